package arithmetic

// modes returns MXCSR, and the control word of the x87.
func modes() (mxcsr uint32, x87 uint16)

func isDefault() bool {
	mxcsr, x87 := modes()
	return mxcsr&0xe040 == 0 && x87&0x0f00 == 0x0300
}
