//go:build linux || darwin || windows

package safefs

// Write makes a new file of these contents in d, like Publish, but under its
// own name from the start: who looks too early sees a part, and a writer that
// is killed leaves one. It is cheaper by what a file without a name costs.
func (d Dir) Write(name string, mtime int64, contents ...[]byte) error {
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.fill(mtime, contents); err != nil {
		_ = d.Remove(name)
		return err
	}
	return nil
}

func (f File) fill(mtime int64, contents [][]byte) error {
	var off int64
	for _, b := range contents {
		if err := f.WriteAt(b, off); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return f.SetMtime(mtime)
}
