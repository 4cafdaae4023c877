"""Matmuls and convolutions as calls of PyTorch: cuBLAS's and cuDNN's own, and products with what follows them."""
import random

import torch
import torch.nn.functional as F

import rivals_rows
from rivals_torch_calls import DEVICE, DTYPES, compiled, set_numerics, slot_count

CHECKED_SUMS = 32   # elements of a result: each is a long sum


# What `sectile bench` fills operands with (fill_numbers of tools/bench/data.cpp): either sign, 0.5 to 1. The power that
# a product draws, and with it the clock, follows from its numbers: rivals get the same ones.
NUMBER_BITS = {
    torch.float32: (torch.int32, 0x807fffff - 2**32, 0x3f000000),
    torch.float16: (torch.int16, 0x83ff - 2**16, 0x3800),
    torch.bfloat16: (torch.int16, 0x807f - 2**16, 0x3f00),
}


def numbers(shape, dtype):
    if dtype in NUMBER_BITS:
        integer, kept, exponent = NUMBER_BITS[dtype]
        bits = torch.randint(torch.iinfo(integer).min, torch.iinfo(integer).max, shape, dtype=integer, device=DEVICE)
        return bits.bitwise_and_(kept).bitwise_or_(exponent).view(dtype)
    low, high = (0, 256) if dtype == torch.uint8 else (-128, 128)
    return torch.randint(low, high, shape, dtype=dtype, device=DEVICE)


def matmul_slot(row, operands):
    """Operands of one call by name, filled with random numbers; matrices as they are multiplied, [batch,] rows,
    columns."""
    out = DTYPES[row["out"]]
    types = {"a": DTYPES[row.get("a_type", row["type"])], "b": DTYPES[row.get("b_type", row["type"])]}
    if row.get("b_format", "plain") != "plain":
        types["b"] = torch.int8 if row["b_format"] == "q8" else torch.uint8
    slot = {}
    for name, (view, _) in operands.items():
        if name == "d" and rivals_rows.is_packed(view):
            continue
        # C is a matrix of its own also where it is D: in place, numbers would grow from call to call.
        shape, strides, span = view.shape, view.strides, view.span
        if name == "b" and row.get("b_format") == "q4":
            shape, span = [shape[0], shape[1], -(-shape[2] // 2)], -(-span // 2)
            strides = [strides[0] // 2, strides[1] // 2, 1]
        x = torch.as_strided(numbers((span,), types.get(name, out)), shape, strides)
        x = x[0] if row["batch"] == 1 else x
        turned = name in ("a", "b") and row["transpose_" + name] and not (name == "b" and row.get("b_format") == "q4")
        slot[name] = x.transpose(-1, -2) if turned else x
    for name in ("bias", "scale"):
        if row.get(name, "none") != "none":
            length = row["m"] if row[name] == "row" else row["n"]
            slot[name] = numbers((length,), out if name == "bias" else torch.float32)
    if row.get("b_format") == "q8":
        slot["b_scale"] = numbers((row["n"],), torch.float32) / 64
    if row.get("b_format") == "q4":
        slot["b_scale"] = numbers((row["n"], (row.get("ldb") or row["k"]) // 32), torch.float16) / 4
    if row.get("a_scale"):
        slot["a_scale"] = numbers((row["k"],), torch.float32)
    return slot


def product(row, a, b):
    if row["type"] == "i8":
        return torch._int_mm(a, b)
    if row["type"] != "f32" and row["out"] == "f32" and row.get("b_format", "plain") != "q8":
        return product_f32(row, a, b)
    # One matrix for all batches: torch.matmul makes one product of it where it can.
    if row["batch"] != 1 and row.get("b_batch") == 0:
        b = b[0]
    elif row["batch"] != 1 and row.get("a_batch") == 0:
        a = a[0]
    return torch.matmul(a, b)


def product_f32(row, a, b, **out):
    """f16 or bf16 with a result in f32: torch 2.8 and later, on a GPU."""
    return (torch.mm if row["batch"] == 1 else torch.bmm)(a, b, out_dtype=torch.float32, **out)


ACTIVATIONS = {
    "relu": torch.relu, "silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def unpacked(row, slot):
    """A and B as numbers of the row's type, but for the scales of b=q8, which are multiplied into the product."""
    a, b, dtype = slot["a"], slot["b"], DTYPES[row["type"]]
    if row.get("a_scale"):
        a = (a.float() * slot["a_scale"]).to(dtype)
    if row.get("b_format") == "q4":
        k = row["k"]
        q = torch.stack((b & 15, b >> 4), -1).flatten(-2)[..., :k]
        wide = dtype if row["type"] == "f16" else torch.float32
        scales = slot["b_scale"].to(wide).repeat_interleave(32, -1)[:, :k]
        b = ((q.to(wide) - 8) * scales).to(dtype).transpose(-1, -2)
    return a.to(dtype), b.to(dtype)


def pointwise(row, slot, v, along, add_c, add_bias):
    """What follows a product that is scaled. `along`: of a vector and its axis, in the result's shape."""
    activation = ACTIVATIONS.get(row.get("activation"))
    v = v + row["beta"] * slot["c"] if add_c else v
    v = v + along(slot["bias"], row["bias"]) if add_bias else v
    v = activation(v) if activation else v
    return v + slot["residual"] if row.get("residual") else v


def composed(row):
    """A product and what follows it, as one would write it: bias or C in the same call where there is one for it."""
    out, alpha, beta = DTYPES[row["out"]], row.get("alpha", 1), row.get("beta", 0)
    bias, scale = row.get("bias", "none"), row.get("scale", "none")
    q8, batched = row.get("b_format") == "q8", row["batch"] != 1
    fused = row["type"] != "i8" and row["out"] == row["type"] and scale == "none" and not q8
    along = lambda vector, axis: vector.unsqueeze(-1) if axis == "row" else vector

    def run(slot):
        a, b = unpacked(row, slot)
        call = torch.baddbmm if batched else torch.addmm
        add_c, add_bias = beta != 0, bias != "none"
        if fused and add_c:
            v, add_c = call(slot["c"], a, b, beta=beta, alpha=alpha), False
        elif fused and bias == "column":
            v, add_bias = call(slot["bias"], a, b, alpha=alpha), False
        else:
            v = product(row, a, b)
            if row["type"] == "i8" and row["out"] != "i32":
                v = v.float()
            v = v * slot["b_scale"] if q8 else v
            v = v * alpha if alpha != 1 else v
            v = v * along(slot["scale"], scale) if scale != "none" else v
        v = pointwise(row, slot, v, along, add_c, add_bias)
        return slot["d"].copy_(v) if "d" in slot else v.to(out)

    return run


def single_call(row, call):
    alpha, beta, n = row.get("alpha", 1), row.get("beta", 0), row["n"]

    def run(slot):
        a, b = slot["a"], slot["b"]
        out = {"out": slot["d"]} if "d" in slot else {}
        if call == "int_mm":
            return torch._int_mm(a, b, **out)
        if call == "mm_out":
            return product_f32(row, a, b, **out)
        if call == "addmm_activation":
            return torch._addmm_activation(slot["bias"], a, b, use_gelu=row["activation"] == "gelu_tanh", **out)
        if call in ("addmm", "baddbmm"):
            return getattr(torch, call)(slot["c"], a, b, beta=beta, alpha=alpha, **out)
        if call == "alpha":
            added = a.new_empty(()).expand(n)   # with a beta of 0 it is not read
            return (torch.addmm if row["batch"] == 1 else torch.baddbmm)(added, a, b, beta=0, alpha=alpha, **out)
        if call in ("bias", "batched bias"):
            return (torch.addmm if call == "bias" else torch.baddbmm)(slot["bias"], a, b, alpha=alpha, **out)
        return torch.matmul(a, b, **out) if out else product(row, a, b)

    return run


EPSILON = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "i32": 0}


def sums_are_right(row, sums, squares, factor, added, got):
    """Elements in f64, loosely: what roundings on the way leave passes, another product does not. `squares`: of the
    sums' terms; `added`: what the epilogue adds, by name."""
    value = factor * sums
    size = value.abs()
    for name in ("c", "bias", "activation", "residual"):
        if name == "activation" and row.get(name) in ACTIVATIONS:
            value = ACTIVATIONS[row[name]](value)
        if name in added:
            value, size = value + added[name], size + added[name].abs()
    rounding = 0.25 if row["acc"] == "f16" else 2e-3 if row["type"] == "f32" else 8 * EPSILON.get(row["type"], 0)
    allowed = 8 * EPSILON[row["out"]] * size + rounding * factor.abs() * squares.sqrt()
    return bool(((got - value).abs() <= allowed).all())


def matmul_is_right(row, slot, result):
    chosen = random.Random(1)
    m, n, k, batch = row["m"], row["n"], row["k"], row["batch"]
    triples = [(chosen.randrange(batch), chosen.randrange(m), chosen.randrange(n)) for _ in range(CHECKED_SUMS)]
    bi, mi, ni = (torch.tensor(values, device=DEVICE) for values in zip(*triples))
    matrix = lambda x: x if batch != 1 else x.unsqueeze(0)
    dtype = DTYPES[row["type"]]
    a = matrix(slot["a"])[bi, mi].double()
    if "a_scale" in slot:
        a = a * slot["a_scale"].double()
    if row.get("b_format") == "q4":
        q = matrix(slot["b"])[bi, ni]
        scales = slot["b_scale"][ni].double()
        b = torch.empty(len(triples), 2 * q.shape[1], dtype=torch.float64, device=DEVICE)
        b[:, 0::2], b[:, 1::2] = (q % 16).double() - 8, (q // 16).double() - 8
        b = b[:, :k] * scales[:, torch.arange(k, device=DEVICE) // 32]
    else:
        b = matrix(slot["b"])[bi, :, ni].double()
        b = b * slot["b_scale"][ni].double().unsqueeze(-1) if "b_scale" in slot else b
    terms = a.to(dtype).double() * b.to(dtype).double()
    factor = torch.full((len(triples),), float(row.get("alpha", 1)), dtype=torch.float64, device=DEVICE)
    at = {"row": mi, "column": ni}
    if "scale" in slot:
        factor = factor * slot["scale"].double()[at[row["scale"]]]
    added = {}
    if "c" in slot:
        added["c"] = row["beta"] * matrix(slot["c"])[bi, mi, ni].double()
    if "bias" in slot:
        added["bias"] = slot["bias"].double()[at[row["bias"]]]
    if "residual" in slot:
        added["residual"] = matrix(slot["residual"])[bi, mi, ni].double()
    got = matrix(result)[bi, mi, ni].double()
    return sums_are_right(row, terms.sum(1), terms.square().sum(1), factor, added, got)


def product_rivals(row, arguments, left_out, calls, operands, slot_of, single, several, is_right):
    """{rival: (function, slots, how a result is seen to be right)}."""
    if calls.left_out:
        left_out["torch"] = calls.left_out
        return {}
    if calls.call is None:
        left_out["torch"] = calls.why
    set_numerics(row["acc"])
    spans = [view.span * size for view, size in operands.values()]
    count = slot_count(arguments.cycle_mb * 1e6, rivals_rows.row_bytes(row), spans, 256)
    slots = [(slot_of(row, operands),) for _ in range(count)]
    rivals = {}
    if calls.call is not None:
        rivals["torch"] = single(row, calls.call)
    if calls.composed:
        rivals["eager"] = several(row)
        rivals |= compiled(arguments, several(row))

    def right(result):
        good = is_right(row, slots[0][0], result)
        result.fill_(77)  # or what one rival left in the result would pass for the next one's
        return good

    return {name: (one, slots, right) for name, one in rivals.items()}


def matmul_rivals(row, arguments, left_out):
    calls, operands = rivals_rows.matmul_calls(row), rivals_rows.matmul_operands(row)
    return product_rivals(row, arguments, left_out, calls, operands, matmul_slot, single_call, composed,
                          matmul_is_right)


# Convolutions

def conv2d_slot(row, operands):
    """Operands of one call by name, filled with random numbers, in torch's order of axes."""
    out = DTYPES[row["out"]]
    types = {"x": DTYPES[row["x_type"]], "w": DTYPES[row["w_type"]]}
    slot = {}
    for name, (view, _) in operands.items():
        if name != "y" or row.get("y_pitch"):
            slot[name] = torch.as_strided(numbers((view.span,), types.get(name, out)), view.shape, view.strides)
    for name, length, dtype in (("bias", row["k"], out), ("scale", row["k"], torch.float32),
                                ("x_scale", row["c"], torch.float32), ("x_bias", row["c"], torch.float32)):
        if row[name]:
            slot[name] = numbers((length,), dtype)
    if row["w_format"] == "q8":
        slot["w_scale"] = numbers((row["k"],), torch.float32) / 64
    return slot


def by_channel(vector, axis=True):
    return vector.view(1, -1, 1, 1)


def prepared_image(row, slot, x):
    """X as it is multiplied, before the padding."""
    if "x_scale" in slot or "x_bias" in slot:
        x = x.float()
    x = x * by_channel(slot["x_scale"]) if "x_scale" in slot else x
    x = x + by_channel(slot["x_bias"]) if "x_bias" in slot else x
    x = torch.relu(x) if row["x_relu"] else x
    return x.to(DTYPES[row["type"]])


def composed_conv2d(row):
    """A convolution and what stands around it, as one would write it: the bias in the same call where that may be."""
    dtype, out, alpha = DTYPES[row["type"]], DTYPES[row["out"]], row["alpha"]
    top, left, bottom, right = row["pad"]
    alike = rivals_rows.padded_alike(row)
    fused = row["bias"] and out == dtype and alpha == 1 and not row["scale"] and row["w_format"] == "plain"
    layout = torch.channels_last if row["y_layout"] == "nhwc" else torch.contiguous_format

    def run(slot):
        x = prepared_image(row, slot, slot["x"])
        x = x if alike else F.pad(x, (left, right, top, bottom))
        v = F.conv2d(x, slot["w"].to(dtype), slot["bias"] if fused else None, row["stride"],
                     (top, left) if alike else 0, row["dilation"], row["groups"])
        v = v * by_channel(slot["w_scale"]) if "w_scale" in slot else v
        v = v * alpha if alpha != 1 else v
        v = v * by_channel(slot["scale"]) if "scale" in slot else v
        v = pointwise(row, slot, v, by_channel, row["beta"] != 0, row["bias"] and not fused)
        return slot["y"].copy_(v) if "y" in slot else v.to(out).contiguous(memory_format=layout)

    return run


def single_conv2d(row, call):
    where = row["stride"], row["pad"][:2], row["dilation"], row["groups"]

    def run(slot):
        x, w, bias = slot["x"], slot["w"], slot.get("bias")
        if call == "cudnn_convolution_relu":
            return torch.cudnn_convolution_relu(x, w, bias, *where)
        if call == "cudnn_convolution_add_relu":
            return torch.cudnn_convolution_add_relu(x, w, slot["c"], row["beta"], bias, *where)
        return F.conv2d(x, w, bias, *where)

    return run


def conv2d_is_right(row, slot, result):
    chosen = random.Random(1)
    output = rivals_rows.conv2d_output(row)
    places = [[chosen.randrange(n) for n in (row["n"], row["k"], *output)] for _ in range(CHECKED_SUMS)]
    at = [torch.tensor(values, device=DEVICE) for values in zip(*places)]
    channels, dtype = row["c"] // row["groups"], DTYPES[row["type"]]
    x_all = prepared_image(row, slot, slot["x"])

    def inside(axis, place, filter_size, size):
        """Where the filter meets the image, in the filter and in the image."""
        first = place * row["stride"][axis] - row["pad"][axis]
        taps = [t for t in range(filter_size) if 0 <= first + t * row["dilation"][axis] < size]
        return taps, [first + t * row["dilation"][axis] for t in taps]

    sums, squares = [], []
    for n, k, y, x in places:
        (rows, ys), (columns, xs) = inside(0, y, row["r"], row["h"]), inside(1, x, row["s"], row["w"])
        first = k // (row["k"] // row["groups"]) * channels
        image = x_all[n, first:first + channels][:, ys][:, :, xs].double()
        weights = slot["w"][k][:, rows][:, :, columns].double()
        if "w_scale" in slot:
            weights = weights * slot["w_scale"][k].double()
        terms = image * weights.to(dtype).double()
        sums.append(terms.sum())
        squares.append(terms.square().sum())
    factor = torch.full((len(places),), float(row["alpha"]), dtype=torch.float64, device=DEVICE)
    if "scale" in slot:
        factor = factor * slot["scale"].double()[at[1]]
    added = {name: slot[name][tuple(at)].double() for name in ("c", "residual") if name in slot}
    if "c" in added:
        added["c"] = row["beta"] * added["c"]
    if "bias" in slot:
        added["bias"] = slot["bias"].double()[at[1]]
    got = result[tuple(at)].double()
    return sums_are_right(row, torch.stack(sums), torch.stack(squares), factor, added, got)


def conv2d_rivals(row, arguments, left_out):
    calls, operands = rivals_rows.conv2d_calls(row), rivals_rows.conv2d_operands(row)
    return product_rivals(row, arguments, left_out, calls, operands, conv2d_slot, single_conv2d, composed_conv2d,
                          conv2d_is_right)
