package deps
import "github.com/kernstash/kernstash/key"
func key_(c []byte) key.Unit { return key.Unit{Kind:key.CUDACpp, Code:c} }
