package arithmetic

// fpcr returns the control register of floating point.
func fpcr() uint64

func isDefault() bool { return fpcr()&(0x7c80000|7) == 0 }
