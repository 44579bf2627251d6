package worker

// ofUs reports whether a program that lies beside a library may be run.
func ofUs(string, string) bool { return true }
