package runlog

import "os"

// openAppend opens a file that is there.
func openAppend(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) }
