"""Plans, profiles, explanations."""

import json

import pytest

import sectile

MATMUL = "matmul f16 nt 960x2304x770 epi=bias+gelu"


def test_a_plan_without_a_device():
    plan = sectile.plan(MATMUL, "nvidia-hopper")
    assert len(plan.id) == 32 and int(plan.id, 16) >= 0
    assert plan.text == str(plan) and "matmul" in plan.text and plan.id in repr(plan)
    assert [one.name for one in plan.operands][:4] == ["a", "b", "d", "bias"]
    assert [one.role for one in plan.operands][:4] == ["source", "source", "destination", "source"]
    assert [one.bytes for one in plan.operands][:4] == [960 * 770 * 2, 2304 * 770 * 2, 960 * 2304 * 2, 2304 * 2]
    assert plan.operands[0].align == 16 and plan.scratch_bytes >= 0 and isinstance(plan.remark, str)
    assert json.loads(plan.json) == plan.as_dict()


def test_a_plan_read_back():
    plan = sectile.plan(MATMUL, "nvidia-hopper")
    again = sectile.plan_from_json(plan.json, "nvidia-hopper")
    assert again.id == plan.id and again.json == plan.json
    with pytest.raises(sectile.ParseError):
        sectile.plan_from_json("{", "nvidia-hopper")
    small = sectile.plan("permute f32 20x30 axes=1,0", "nvidia-hopper")
    with pytest.raises(sectile.InvalidPlanError):
        sectile.plan_from_json(small.json, "amd-rdna3")


def test_options():
    plain = sectile.plan("permute f16 2x300x500 axes=0,2,1", "nvidia-hopper")
    forced = sectile.plan("permute f16 2x300x500 axes=0,2,1", "nvidia-hopper", force="permute_rows")
    assert "permute_rows" in forced.text and forced.text != plain.text
    with pytest.raises(sectile.Error, match="no_such"):
        sectile.plan("permute f16 2x300x500 axes=0,2,1", "nvidia-hopper", force="no_such")
    image = "conv2d f32 nchw 2x320x64x64 k=320 r=3x3 p=1"
    free = sectile.plan(image, "nvidia-hopper")
    assert free.scratch_bytes > 1 << 20
    assert sectile.plan(image, "nvidia-hopper", max_scratch_bytes=1 << 20).scratch_bytes <= 1 << 20
    assert sectile.plan(image, "nvidia-hopper", max_scratch_bytes=0).scratch_bytes == 0
    few = sectile.plan("matmul f16 nt 77x77x77", "nvidia-hopper", few_pipelines=True)
    assert few.id != sectile.plan("matmul f16 nt 77x77x77", "nvidia-hopper").id


def test_an_explanation_has_all_candidates():
    text = sectile.explain("permute f16 2x300x500 axes=0,2,1", "nvidia-hopper")
    assert "permute_tile" in text and "permute_rows" in text
    assert text == sectile.plan("permute f16 2x300x500 axes=0,2,1", "nvidia-hopper", explain=True).explanation
    assert len(text.splitlines()) > len(
        sectile.plan("permute f16 2x300x500 axes=0,2,1", "nvidia-hopper").explanation.splitlines()
    )


def test_targets(device):
    profile = sectile.Profile.from_target("nvidia-hopper")
    assert profile.name == "nvidia-hopper" and "nvidia-hopper" in repr(profile)
    again = sectile.Profile.from_json(profile.json)
    assert again.json == profile.json
    assert sectile.plan(MATMUL, again).id == sectile.plan(MATMUL, "nvidia-hopper").id
    own = sectile.plan(MATMUL)
    assert own.id == sectile.plan(MATMUL, device).id == sectile.plan(MATMUL, device.profile).id
    assert own.id != sectile.plan(MATMUL, "nvidia-hopper").id
    with pytest.raises(sectile.MissingError, match="nvidia-hopper"):
        sectile.plan(MATMUL, "no-such-target")
    with pytest.raises(sectile.InvalidProblemError, match="target: int"):
        sectile.plan(MATMUL, 3)


@pytest.mark.parametrize(
    "problem, error",
    [
        ("", sectile.ParseError),
        ("permute", sectile.ParseError),
        ("permute f32 2x3 axes=0,0", sectile.InvalidProblemError),
        ("permute f32 4611686018427387904x4 axes=1,0", sectile.SizeOverflowError),
        ("matmul f64 nn 2x2x2", sectile.Error),
    ],
)
def test_errors(problem, error):
    with pytest.raises(error) as caught:
        sectile.plan(problem, "nvidia-hopper")
    assert str(caught.value).startswith(caught.value.kind + ": ")


def test_versions():
    assert sectile.planner_version() and sectile.library_path().endswith(sectile._library.NAMES[0])
