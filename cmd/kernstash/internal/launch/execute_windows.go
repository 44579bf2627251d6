package launch

// mayExecute says whether this process may execute a file.
func mayExecute(string) error { return nil }
