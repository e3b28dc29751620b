"""A compiled step's shared object, called through torch's C interface for code compiled ahead of time.

The call itself frees the interpreter's lock once; making the handles it consumes keeps the lock, since giving
it up and taking it again costs more than they do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_bool, c_char_p, c_int32, c_size_t, c_void_p
from pathlib import Path

import torch
from torch import Tensor

_PREFIX = "AOTInductorModelContainer"
_NEEDED = {
    "CreateWithDevice": (c_void_p, c_size_t, c_char_p, c_char_p),
    "Delete": (c_void_p,),
    "GetNumConstants": (c_void_p, c_void_p),
    "GetConstantName": (c_void_p, c_size_t, c_void_p),
    "GetConstantOriginalFQN": (c_void_p, c_size_t, c_void_p),
    "UpdateUserManagedConstantBufferPairs": (c_void_p, c_void_p, c_size_t, c_bool, c_bool),
    "RunSingleThreaded": (c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p),
}


class LibraryError(Exception):
    """The shared object cannot be loaded, or its interface is not the one we know."""


class _Pair(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("handle", c_void_p))


class Library:
    """A loaded shared object. It stays in the process until its end."""

    def __init__(self, path: Path) -> None:
        try:
            freeing, self._holding = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
            self.functions = {name: getattr(freeing, _PREFIX + name) for name in _NEEDED}
            self.last_error = self._holding.AOTInductorGetLastError
            self.new_handle = self._holding.aoti_torch_new_tensor_handle
            self.delete_handle = self._holding.aoti_torch_delete_tensor_object
            self._capsules = torch._C._aoti.unsafe_alloc_void_ptrs_from_tensors
        except (OSError, AttributeError) as error:
            raise LibraryError(f"torch {torch.__version__} cannot load it: {error}") from error
        for name, arguments in _NEEDED.items():
            self.functions[name].argtypes = arguments
            self.functions[name].restype = c_int32
        self.new_handle.argtypes = (c_void_p, c_void_p)
        self.delete_handle.argtypes = (c_void_p,)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the interface; raises `LibraryError` with its message."""
        if self.functions[name](*arguments):
            raise LibraryError(f"{name}: {self.message()}")

    def message(self) -> str:
        """What the last failed call on this thread said."""
        text = c_char_p()
        self.last_error(byref(text))
        return (text.value or b"no message").decode(errors="replace")

    def handle(self, tensor: Tensor) -> int:
        """A new handle of the tensor, to be given to `delete_handle`; it keeps the tensor's memory alive."""
        (capsule,) = self._capsules([tensor])
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = c_void_p, (ctypes.py_object, c_char_p)
        address = pointer(capsule, None)
        assert isinstance(address, int)
        return address


class BoundStep:
    """A compiled step over given constants, none of which is copied; used by one thread at a time."""

    def __init__(self, library: Library, constants: Mapping[str, Tensor], arguments: int) -> None:
        self._library = library
        self._handles: dict[int, int] = {}
        """Our own handle of each argument's memory, by address: as long as it lives, so does the memory."""
        self._container = c_void_p()
        library.call("CreateWithDevice", byref(self._container), 1, b"cpu", None)
        self._constants = [(name, library.handle(constants[known])) for name, known in self._named(constants)]
        pairs = (_Pair * len(self._constants))(*(_Pair(*pair) for pair in self._constants))
        library.call("UpdateUserManagedConstantBufferPairs", self._container, pairs, len(pairs), False, True)
        self._consumed = (c_void_p * arguments)()
        first = ctypes.addressof(self._consumed)
        self._places = [first + ctypes.sizeof(c_void_p) * place for place in range(arguments)]
        self._none = (c_void_p * 1)()

    def _named(self, constants: Mapping[str, Tensor]) -> list[tuple[bytes, str]]:
        """The step's name of each constant, and ours."""
        count = c_size_t()
        self._library.call("GetNumConstants", self._container, byref(count))
        found = []
        for index in range(count.value):
            name, known = c_char_p(), c_char_p()
            self._library.call("GetConstantName", self._container, index, byref(name))
            self._library.call("GetConstantOriginalFQN", self._container, index, byref(known))
            ours = (known.value or b"").decode()
            if name.value is None or ours not in constants:
                raise LibraryError(f"it asks for a constant `{ours}`, which this model does not have")
            found.append((name.value, ours))
        return found

    def run(self, tensors: Sequence[Tensor]) -> None:
        """Run the step on contiguous CPU tensors of the shapes it was compiled for.

        Raises `LibraryError` where it fails.
        """
        new, handles = self._library.new_handle, self._handles
        for place, tensor in zip(self._places, tensors, strict=True):
            base = handles.get(tensor.data_ptr()) or self._keep(tensor)
            new(base, place)  # the call below consumes it
        if self._library.functions["RunSingleThreaded"](
            self._container, self._consumed, len(tensors), self._none, 0, None, None
        ):
            raise LibraryError(f"the compiled step failed: {self._library.message()}")

    def _keep(self, tensor: Tensor) -> int:
        base = self._handles[tensor.data_ptr()] = self._library.handle(tensor)
        return base

    def close(self) -> None:
        """Let go of the constants and arguments."""
        self._library.call("Delete", self._container)
        for handle in (*self._handles.values(), *(handle for _, handle in self._constants)):
            self._library.delete_handle(handle)
        self._handles.clear()
        self._constants.clear()
