package runlog

func makeFIFO(string) error { return nil }
