package settings

import "os"

// openOwn opens a settings file that was found, not named. It lies in the
// user's profile, which Windows keeps from others.
func openOwn(path string) (*os.File, error) { return os.Open(path) }
