"""The forward run as a function of PyTorch with a gradient: `craton.torch.layer`. PyTorch is imported
when a layer is made.
"""

from importlib import import_module

import numpy as np

from craton.errors import Problem as Fault
from craton.errors import ResourceError, refuse, refuse_all


def layer(scenario, parameters=("vp", "vs", "rho"), **options):
    """Return a function from parameters to data, both tensors of PyTorch, through which gradients go
    back.

    The gradient is that of the discrete scheme, as of `craton.Problem`; it is that of first order.
    Tensors and arrays of the CPU share their memory (DLPack); those of a GPU go over the host: the
    parameters and the data, once per call.

    Parameters
    ----------
    scenario : Scenario
        One shot or many.
    parameters : sequence of str
        Of one set: see `craton.Problem`. The others stay those of the scenario.
    **options
        device, every, memory, on, storage, ranks, comm, sums: see `craton.Problem`; of craton's run, wherever the tensors are.

    Returns
    -------
    Layer

    Raises
    ------
    ResourceError
        PyTorch is not installed.
    ScenarioError
        See `craton.Problem`.
    """
    try:
        import_module("torch")
    except ImportError as error:
        raise ResourceError("craton.torch needs PyTorch; install it with: pip install 'craton[torch]'") from error
    from craton.inverse.problem import Problem

    return Layer(Problem(scenario, None, parameters=parameters, **options))


class Layer:
    """A problem as a function of tensors: ``data = layer(vp, vs, rho)``.

    Parameters
    ----------
    problem : craton.Problem

    Attributes
    ----------
    names : tuple of str
        Parameters, in the order in which they are taken.
    variables : tuple of str
        Of the data, in the order in which they are returned.
    shape : tuple of int
        Of each parameter: (nz, ny, nx), in the plane (nz, nx).
    """

    def __init__(self, problem):
        self.problem = problem
        self.names = problem.parameters.names
        self.variables = tuple(problem.recordings[0].shapes)
        self.shape = tuple(n for n in problem.shape[1:] if n > 1)
        self._function = function()

    def start(self, dtype=None):
        """Return the parameters of the scenario as tensors, which gradients may be asked of.

        Parameters
        ----------
        dtype : torch.dtype, optional
            By default float64.
        """
        import torch

        fields = np.reshape(self.problem.m0, (len(self.names), *self.shape))
        return tuple(torch.tensor(f, dtype=dtype or torch.float64) for f in fields)

    def __call__(self, *fields):
        """Return the data of parameters.

        Parameters
        ----------
        *fields : torch.Tensor
            One of `shape` for each of `names`; of one dtype, on one device.

        Returns
        -------
        torch.Tensor or dict of str to torch.Tensor
            The data where there is one variable, else by variable; dimensions as in
            `craton.Problem.data`, 0 where a receiver has no channel; dtype and device are those of
            the parameters.

        Raises
        ------
        ScenarioError
            Other tensors, or impossible parameters.
        """
        self.check(fields)
        out = self._function.apply(self, *fields)
        return out[0] if len(out) == 1 else dict(zip(self.variables, out))

    def check(self, fields):
        """Refuse tensors that are not the parameters."""
        if len(fields) != len(self.names):
            refuse("layer", f"{len(fields)} tensors", f"give {', '.join(self.names)}")
        problems = [
            Fault(f"layer.{name}", f"has the shape {tuple(f.shape)}", f"give it {self.shape}")
            for name, f in zip(self.names, fields)
            if tuple(f.shape) not in (self.shape, self.problem.shape[1:])
        ]
        if len({(f.dtype, f.device) for f in fields}) > 1:
            problems.append(Fault("layer", "the tensors differ in dtype or device", "move them with .to()"))
        refuse_all(problems)

    def vector(self, fields):
        """Return the vector of parameters of tensors."""
        return np.concatenate([on_host(f).ravel() for f in fields], dtype=float)

    def data(self, m):
        """Return the data of a vector of parameters by variable, of many shots one after another: list of arrays."""
        problem = self.problem
        problem._move(m)
        runs = [r.arrays(problem._samples(n)) for n, r in enumerate(problem.recordings)]
        if len(runs) == 1:
            return [runs[0][name] for name in self.variables]
        return [np.stack([run[name] for run in runs]) for name in self.variables]

    def transposed(self, m, derivatives):
        """Return the gradient by the parameters, (parameters, ...), from that by the data, a list as of `data`."""
        count = len(self.problem.recordings)
        shots = [d if count > 1 else d[None] for d in derivatives]
        residual = [np.ravel(d[n]) for n in range(count) for d in shots]
        residual = residual[0] if len(residual) == 1 else np.concatenate(residual)
        return np.reshape(self.problem.adjoint(residual, m), self.problem.shape)


def on_host(tensor):
    """Return a tensor as an array, without a copy where it is on the host already."""
    return np.from_dlpack(tensor.detach().cpu().contiguous())


def function():
    """Return the autograd.Function of layers."""
    import torch
    from torch.autograd.function import once_differentiable

    class Run(torch.autograd.Function):
        """Data of a layer's parameters; back comes the transposed run."""

        @staticmethod
        def forward(ctx, layer, *fields):
            ctx.layer, ctx.m = layer, layer.vector(fields)
            ctx.like = fields[0]
            arrays = layer.data(ctx.m)
            return tuple(torch.from_dlpack(np.ascontiguousarray(a)).to(fields[0]) for a in arrays)

        @staticmethod
        @once_differentiable
        def backward(ctx, *slopes):
            arrays = [np.asarray(on_host(slope), float) for slope in slopes]
            back = ctx.layer.transposed(ctx.m, arrays)
            return None, *(
                torch.from_dlpack(np.ascontiguousarray(part.reshape(ctx.layer.shape))).to(ctx.like) for part in back
            )

    return Run
