"""Which device a name opens, what is said of it, and what comes of one that is not there."""

import convoy
import pytest


@pytest.mark.parametrize("failover", [True, False])
@pytest.mark.parametrize("name", ["no such device", "vulkan", "ocl:9", "cpu:1"])
def test_a_name_that_nobody_ever_bore(name, failover):
    sentence = f'no device is called "{name}"; what there is: '
    with pytest.raises(convoy.NotFoundError, match=sentence):
        convoy.open(name, failover=failover)


def test_named_by_the_environment(monkeypatch):
    monkeypatch.setenv("CONVOY_DEVICE", "5600 of another world")
    with pytest.raises(convoy.NotFoundError, match="5600 of another world"):
        convoy.open()


@pytest.mark.parametrize("name", ["old card", "OCL:77"])
def test_a_device_that_is_gone(name, gone_device, capfd):
    with convoy.open(name, verbose=True) as context:
        assert context.device.id == "cpu"
        assert context.health().fallback_seconds >= 1
        assert context.health().downgrades == 1
        text = context.description
        assert text.startswith("cpu (") and f"in place of {name} for " in text
        assert "was ocl:77 (My Old Card), last seen on 2026-11-20, and " in text
        assert repr(context).startswith("<convoy.Context: cpu (")
        assert "in place of" in repr(context)
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2
    assert f"{name} cannot be opened, the CPU computes" in told[0]
    assert told[1].startswith("convoy: computing on cpu (") and f"in place of {name}" in told[1]


def test_a_device_is_required(gone_device, monkeypatch):
    for options in {"require_device": True}, {"failover": False}:
        with pytest.raises(convoy.ConvoyError, match="last seen on 2026-11-20") as caught:
            convoy.open(gone_device, **options)
        assert not isinstance(caught.value, convoy.NotFoundError)
    monkeypatch.setenv("CONVOY_REQUIRE_DEVICE", "1")
    with pytest.raises(convoy.ConvoyError, match="last seen on 2026-11-20"):
        convoy.open(gone_device)
    convoy.open(gone_device, require_device=False).close()
    convoy.open("cpu").close()
    with pytest.raises(convoy.ArgumentError, match="require_device"):
        convoy.open("cpu", require_device="yes")


def test_what_a_context_says_of_itself(capfd):
    with convoy.open(" CPU") as context:
        assert context.description == f'cpu ({context.device.name}): asked for as "CPU"'
        assert repr(context) == f"<convoy.Context: {context.description}>"
        assert context.health().fallback_seconds == 0
    assert repr(context) == "<convoy.Context, closed>"
    assert capfd.readouterr().err == ""
    with convoy.open("cpu", verbose=True) as context:
        assert capfd.readouterr().err == f"convoy: computing on {context.description}\n"
    with pytest.raises(convoy.ArgumentError, match="closed"):
        context.description


def test_an_opencl_device_says_so(opencl_device):
    with convoy.open(opencl_device, failover=False) as context:
        assert context.description.startswith(f"{opencl_device} (")
        assert context.description.endswith(f'): asked for as "{opencl_device}"')


def test_lists_tell_what_is_gone(gone_device):
    _, why = convoy.list_devices()
    assert "this machine has also had ocl:77 (My Old Card) until 2026-11-20" in why
    assert "My Old Card" not in convoy.list_devices("cpu")[1]
