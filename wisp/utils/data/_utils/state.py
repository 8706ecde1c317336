"""Epochs that stop and are resumed: where a loader stands, as plain data.

An epoch is repeated, not recorded: the state that sampling began with is put back, the sampler runs again, and what was
given before is left out.
"""

from contextlib import contextmanager

from wisp import _C
from wisp.utils.data._utils.generators import others_state, put_others_back
from wisp.utils.data.distributed import DistributedSampler
from wisp.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

_OURS = (BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler, DistributedSampler,
         range, list, tuple)  # fmt: skip


def _samplers(loader):
    """The loader's samplers, from the outside in."""
    found = [loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None), loader.sampler]
    kept = []
    for sampler in found:
        if sampler is not None and not any(sampler is other for other in kept):
            kept.append(sampler)
    return kept


def _generators(loader):
    """The generators that an epoch's seed and order are drawn from, each once."""
    owners = [loader, *(sampler for sampler in _samplers(loader) if hasattr(sampler, "generator"))]
    found = [_C.default_generator if owner.generator is None else owner.generator for owner in owners]
    return list({id(generator): generator for generator in found}.values())


def _generator_states(loader):
    return [generator.get_state() for generator in _generators(loader)]


def _put_generators_back(loader, states):
    generators = _generators(loader)
    if len(states) != len(generators):
        raise ValueError(
            f"the state is of a loader that draws from {len(states)} generators, this one has {len(generators)}"
        )
    for generator, state in zip(generators, states):
        generator.set_state(state)


def sampling_state(loader):
    """All that decides the order of an epoch that is about to begin."""
    samplers = _samplers(loader)
    foreign = not loader._iterable and any(type(sampler) not in _OURS for sampler in samplers)
    return {
        "generators": _generator_states(loader),
        "others": others_state() if foreign else None,
        "samplers": [sampler.state_dict() if hasattr(sampler, "state_dict") else None for sampler in samplers],
        "epochs": [sampler.epoch if hasattr(sampler, "set_epoch") else None for sampler in samplers],
    }


def _put_sampling_back(loader, state):
    _put_generators_back(loader, state["generators"])
    if state["others"] is not None:
        put_others_back(state["others"])
    for sampler, own, epoch in zip(_samplers(loader), state["samplers"], state["epochs"]):
        if own is not None:
            sampler.load_state_dict(own)
        if epoch is not None:
            sampler.set_epoch(epoch)


@contextmanager
def epoch_to_resume(loader):
    """The state to resume from, if any. Inside, sampling is as it was when that epoch began."""
    resumed, loader._resumed = loader._resumed, None
    if resumed is None:
        yield None
        return
    generators, others = _generator_states(loader), others_state()
    _put_sampling_back(loader, resumed["start"])
    try:
        yield resumed
    finally:
        _put_generators_back(loader, generators)
        put_others_back(others)


def state_dict(loader):
    """See DataLoader.state_dict()."""
    if loader._resumed is not None:  # loaded and not taken up yet
        return {**loader._resumed, "generators": _generator_states(loader)}
    state = {"epoch": loader._epochs, "batches": 0, "start": None, "generators": _generator_states(loader)}
    epoch = loader._epoch
    if epoch is not None and not epoch.finished:
        state.update(epoch=epoch.number, batches=epoch.given, start=epoch.start)
    return state


def load_state_dict(loader, state):
    """See DataLoader.load_state_dict()."""
    expected = {"epoch", "batches", "start", "generators"}
    if not isinstance(state, dict) or state.keys() != expected:
        raise ValueError(f"expected the state of a DataLoader, a dict with the keys {sorted(expected)}")
    _put_generators_back(loader, state["generators"])
    loader._epochs = state["epoch"]
    loader._epoch = None
    loader._resumed = state if state["start"] is not None else None
