//go:build !linux && !darwin && !windows

package safefs

// OpenRoot is not supported here, so nothing else is ever reached.
func OpenRoot(path string, _ Options) (Dir, Info, error) {
	return Dir{}, Info{}, pathError("open", path, ErrUnsupported)
}

func (d Dir) Stat() (Info, error)          { return Info{}, pathError("stat", ".", ErrUnsupported) }
func (d Dir) Close() error                 { return nil }
func (d Dir) Mkdir(name string) error      { return pathError("mkdir", name, ErrUnsupported) }
func (d Dir) Remove(name string) error     { return pathError("remove", name, ErrUnsupported) }
func (d Dir) Rmdir(name string) error      { return pathError("rmdir", name, ErrUnsupported) }
func (d Dir) Each(func(string) bool) error { return pathError("list", ".", ErrUnsupported) }

// EachOnce fails with [ErrUnsupported].
func (d Dir) EachOnce(func(string) bool) error { return pathError("list", ".", ErrUnsupported) }

func (d Dir) OpenDir(path string) (Dir, error) {
	return Dir{}, pathError("open", path, ErrUnsupported)
}

func (d Dir) Open(path string) (File, Info, error) {
	return File{}, Info{}, pathError("open", path, ErrUnsupported)
}

func (d Dir) OpenWrite(path string) (File, Info, error) {
	return File{}, Info{}, pathError("open", path, ErrUnsupported)
}

func (d Dir) Create(name string) (File, error) {
	return File{}, pathError("create", name, ErrUnsupported)
}

func (d Dir) Lstat(name string) (Info, error) {
	return Info{}, pathError("stat", name, ErrUnsupported)
}

func (d Dir) Rename(name string, _ Dir, _ string) error {
	return pathError("rename", name, ErrUnsupported)
}

func (d Dir) Publish(_ Dir, name string, _ bool, _ int64, _ ...[]byte) error {
	return pathError("publish", name, ErrUnsupported)
}

func (d Dir) Write(name string, _ int64, _ ...[]byte) error {
	return pathError("create", name, ErrUnsupported)
}

func (f File) Close() error        { return nil }
func (f File) Stat() (Info, error) { return Info{}, pathError("stat", "file", ErrUnsupported) }

// Own says whether the descriptor is still ours.
func (f File) Own() error { return pathError("use", "file", ErrUnsupported) }

func (f File) SetMtime(int64) error { return pathError("set time of", "file", ErrUnsupported) }

func (f File) WriteAt([]byte, int64) error { return pathError("write", "file", ErrUnsupported) }

func (f File) ReadAt([]byte, int64) (int, error) { return 0, pathError("read", "file", ErrUnsupported) }
