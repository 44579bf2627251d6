"""The interface of triton/runtime/cache.py, and what its files are like."""

import base64
import importlib
import json
import os
import uuid
from abc import ABC, abstractmethod


class CacheManager(ABC):
    def __init__(self, key):
        pass

    @abstractmethod
    def get_file(self, filename):
        pass

    @abstractmethod
    def put(self, data, filename, binary=True):
        pass

    @abstractmethod
    def get_group(self, filename):
        pass

    @abstractmethod
    def put_group(self, filename, group):
        pass


def directory(variable, name):
    return os.environ.get(variable) or os.path.join(os.environ.get("TRITON_HOME", os.path.expanduser("~")), ".triton", name)


class FileCacheManager(CacheManager):
    def __init__(self, key, override=False, dump=False):
        self.key = key
        self.lock_path = None
        if override:
            self.cache_dir = os.path.join(directory("TRITON_OVERRIDE_DIR", "override"), key)
            return
        root = directory("TRITON_DUMP_DIR", "dump") if dump else directory("TRITON_CACHE_DIR", "cache")
        self.cache_dir = os.path.join(root, key)
        self.lock_path = os.path.join(self.cache_dir, "lock")
        os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        path = self.get_file("__grp__" + filename)
        if path is None:
            return None
        with open(path) as f:
            children = json.load(f).get("child_paths")
        return None if children is None else {name: path for name, path in children.items() if os.path.exists(path)}

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), "__grp__" + filename, binary=False)

    def put(self, data, filename, binary=True):
        if self.lock_path is None:
            raise RuntimeError("an override manager puts nothing")
        binary = isinstance(data, bytes)
        temporary = os.path.join(self.cache_dir, "tmp.pid_%d_%s" % (os.getpid(), uuid.uuid4()))
        os.makedirs(temporary, exist_ok=True)
        path = os.path.join(temporary, filename)
        with open(path, "wb" if binary else "w") as f:
            f.write(data if binary else str(data))
        os.replace(path, self._make_path(filename))
        os.removedirs(temporary)
        return self._make_path(filename)


def manager_class():
    named = os.environ.get("TRITON_CACHE_MANAGER")
    if named is None:
        return FileCacheManager
    module, name = named.split(":", 1)
    found = getattr(importlib.import_module(module), name)
    if not any(c.__name__ == "CacheManager" for c in found.mro()):
        raise RuntimeError("not of type CacheManager: " + named)
    return found


def _base32(key):
    return base64.b32encode(bytes.fromhex(key)).decode("utf-8").rstrip("=")


def get_cache_manager(key):
    return manager_class()(_base32(key))


def get_override_manager(key):
    return manager_class()(_base32(key), override=True)


def get_dump_manager(key):
    return manager_class()(_base32(key), dump=True)
