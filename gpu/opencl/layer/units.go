package layer

import (
	"fmt"

	"github.com/kernstash/kernstash"
)

// coreOfUnits returns a request to link units, or to compile one.
func (r *Request) coreOfUnits(bool) (kernstash.Request, error) {
	return kernstash.Request{}, fmt.Errorf("%w: kind %d", errRequest, r.What)
}
