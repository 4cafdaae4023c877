"""What tools/python/rivals_torch_products.py asks of PyTorch, without PyTorch: tensors are the text of how they were
made. tests/tools/python/rivals_test.py runs these tests with its own."""
import os
import re
import struct
import sys
import types
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import rivals_rows


class Text:
    """A tensor by how it was made. Conversions are left out."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text

    def __add__(self, other):
        return Text(f"({self} + {other})")

    def __mul__(self, other):
        return Text(f"({self} * {other})")

    __rmul__ = __mul__

    def __getitem__(self, index):
        return Text(f"{self}[{index}]")

    def copy_(self, other):
        return Text(f"{self} = {other}")

    def to(self, dtype):
        return self

    def float(self):
        return self

    def unsqueeze(self, axis):
        return Text(f"{self}.column")


def called(name):
    def call(*arguments, **named):
        words = [str(value) for value in arguments] + [f"{key}={value}" for key, value in named.items()]
        return Text(f"{name}({', '.join(words)})")

    return call


def stand_in():
    """As much of torch as the modules name when they are imported and when a matmul is said."""
    torch, functional = types.ModuleType("torch"), types.ModuleType("torch.nn.functional")
    for name in ("int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"):
        setattr(torch, name, name)
    for name in ("matmul", "mm", "bmm", "addmm", "baddbmm", "_addmm_activation", "_int_mm", "relu"):
        setattr(torch, name, called(name))
    torch.compile = lambda function, **options: ("compiled", options)
    functional.gelu, functional.silu = called("gelu"), called("silu")
    matmul = types.SimpleNamespace(allow_fp16_accumulation=None)
    cudnn = types.SimpleNamespace()
    torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=matmul), cudnn=cudnn)
    nn = types.ModuleType("torch.nn")
    torch.nn, nn.functional = nn, functional
    return {"torch": torch, "torch.nn": nn, "torch.nn.functional": functional}


def with_stand_in():
    """The modules, imported with the stand-in; nothing of it is left behind for others."""
    names = ("torch", "torch.nn", "torch.nn.functional", "rivals_torch_calls", "rivals_torch_products")
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.modules.update(stand_in())
    try:
        import rivals_torch_calls
        import rivals_torch_products
        return rivals_torch_calls, rivals_torch_products
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


calls, products = with_stand_in()


def row_of(**more):
    return {"operation": "matmul", "type": "f16", "acc": "f32", "out": "f16", "m": 64, "n": 32, "k": 48, "batch": 1,
            "transpose_a": False, "transpose_b": True} | more


def slot_of(row):
    names = ["a", "b"] + (["c"] if row.get("beta") else []) + (["residual"] if row.get("residual") else [])
    names += [name for name in ("bias", "scale") if row.get(name, "none") != "none"]
    names += ["b_scale"] if row.get("b_format", "plain") != "plain" else []
    return {name: Text(name) for name in names}


def single(**more):
    row = row_of(**more)
    return str(products.single_call(row, rivals_rows.matmul_calls(row).call)(slot_of(row)))


def composed(**more):
    row = row_of(**more)
    return str(products.composed(row)(slot_of(row)))


INT8 = {"type": "i8", "acc": "i32", "out": "i32"}


class MatmulsInTorch(unittest.TestCase):
    def test_sums_are_of_the_rows_type(self):
        """f32 sums without TF32, f16 ones where the row has them, and never a bf16 one."""
        matmul = calls.torch.backends.cuda.matmul
        for acc, narrow in (("f16", True), ("f32", False), ("f16", True), ("i32", False)):
            calls.set_numerics(acc)
            self.assertIs(matmul.allow_fp16_reduced_precision_reduction, narrow)
            self.assertIs(matmul.allow_fp16_accumulation, narrow)
            self.assertIs(matmul.allow_bf16_reduced_precision_reduction, False)
            self.assertIs(matmul.allow_tf32, False)
            self.assertIs(calls.torch.backends.cudnn.allow_tf32, False)

    def test_plain_products_are_one_call(self):
        for kind in ("f32", "f16", "bf16"):
            self.assertEqual(single(type=kind, out=kind), "matmul(a, b)")
        self.assertEqual(single(m=1), "matmul(a, b)")
        self.assertEqual(single(**INT8), "_int_mm(a, b)")
        self.assertEqual(single(out="f32"), "mm(a, b, out_dtype=float32)")
        self.assertEqual(single(out="f32", batch=3), "bmm(a, b, out_dtype=float32)")
        self.assertEqual(single(batch=3), "matmul(a, b)")
        # One matrix for all batches is no batch: one product of it, where there is a way.
        self.assertEqual(single(batch=3, b_batch=0), "matmul(a, b[0])")
        self.assertEqual(single(batch=3, a_batch=0), "matmul(a[0], b)")

    def test_epilogues_in_one_call(self):
        self.assertEqual(single(bias="column"), "addmm(bias, a, b, alpha=1)")
        self.assertEqual(single(bias="column", batch=3), "baddbmm(bias, a, b, alpha=1)")
        self.assertEqual(single(beta=0.5), "addmm(c, a, b, beta=0.5, alpha=1)")
        self.assertEqual(single(bias="column", activation="relu"), "_addmm_activation(bias, a, b, use_gelu=False)")
        self.assertEqual(single(bias="column", activation="gelu_tanh"), "_addmm_activation(bias, a, b, use_gelu=True)")

    def test_epilogues_behind_a_product(self):
        self.assertEqual(composed(bias="column", activation="gelu"), "gelu(addmm(bias, a, b, alpha=1))")
        self.assertEqual(composed(bias="column", activation="gelu_tanh"),
                         "gelu(addmm(bias, a, b, alpha=1), approximate=tanh)")
        self.assertEqual(composed(bias="column", residual=True), "(addmm(bias, a, b, alpha=1) + residual)")
        self.assertEqual(composed(bias="column", activation="relu", residual=True, batch=3),
                         "(relu(baddbmm(bias, a, b, alpha=1)) + residual)")
        self.assertEqual(composed(bias="row", activation="silu"), "silu((matmul(a, b) + bias.column))")
        self.assertEqual(composed(bias="column", scale="column"), "((matmul(a, b) * scale) + bias)")
        self.assertEqual(composed(b_format="q8", b_type="i8", bias="column"), "((matmul(a, b) * b_scale) + bias)")
        self.assertEqual(composed(**INT8, bias="column", activation="relu"), "relu((_int_mm(a, b) + bias))")

    def test_inductor_is_in_its_default_mode(self):
        arguments = types.SimpleNamespace(no_inductor=False, autotune=False)
        default = ("compiled", {"dynamic": False, "fullgraph": True})
        self.assertEqual(calls.compiled(arguments, None), {"inductor": default})
        arguments.autotune = True
        self.assertEqual(list(calls.compiled(arguments, None)), ["inductor", "inductor-autotune"])
        arguments.autotune, arguments.no_inductor = False, True
        self.assertEqual(calls.compiled(arguments, None), {})

    def test_numbers_are_those_of_the_benchmark(self):
        """The same bits are kept and set as in tools/bench/data.cpp; numbers have either sign and are 0.5 to 1."""
        with open(os.path.join(ROOT, "tools", "bench", "data.cpp"), encoding="utf-8") as file:
            text = file.read()
        for name, dtype, bits in (("f32", "float32", 32), ("f16", "float16", 16), ("bf16", "bfloat16", 16)):
            found = re.search(rf"DType::{name}\) word = \(word & 0x([0-9a-f]+)u\) \| 0x([0-9a-f]+)u;", text)
            integer, kept, exponent = products.NUMBER_BITS[dtype]
            self.assertEqual(integer, f"int{bits}")
            for value, hexadecimal in zip((kept, exponent), found.groups()):
                self.assertEqual(f"{value % 2**bits:0{bits // 4}x}" * (32 // bits), hexadecimal)
            for word in range(0, 2**bits, 2**bits // 4096 + 1):
                word = (word & kept | exponent) % 2**bits
                packed = struct.pack("<H", word) if name == "f16" else struct.pack("<I", word << (32 - bits))
                value = struct.unpack("<e" if name == "f16" else "<f", packed)[0]
                self.assertTrue(0.5 <= abs(value) < 1, value)
                self.assertEqual(value < 0, word >> (bits - 1) == 1)


if __name__ == "__main__":
    unittest.main()
