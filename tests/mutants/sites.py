def sample(tree, seed, path):
    pass
