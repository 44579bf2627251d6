package cl

import "encoding/binary"

// EventID is a cl_event.
type EventID uintptr

var (
	clWaitForEvents         = entry{name: "clWaitForEvents"}
	clGetEventInfo          = entry{name: "clGetEventInfo"}
	clGetEventProfilingInfo = entry{name: "clGetEventProfilingInfo"}
	clReleaseEvent          = entry{name: "clReleaseEvent"}
)

// WaitForEvents waits until all events are complete.
func WaitForEvents(events []EventID) error {
	if len(events) == 0 {
		return nil
	}
	return clWaitForEvents.status(uintptr(len(events)), uintptr(addr(events)))
}

// GetEventStatus returns CL_EVENT_COMMAND_EXECUTION_STATUS.
func GetEventStatus(e EventID) (int32, error) {
	b, err := clGetEventInfo.info(EventCommandExecutionStatus, uintptr(e))
	if err != nil || len(b) < 4 {
		return 0, err
	}
	return int32(binary.NativeEndian.Uint32(b)), nil
}

// GetEventProfilingInfo returns a time of the device's clock in nanoseconds.
func GetEventProfilingInfo(e EventID, param uint32) (uint64, error) {
	b, err := clGetEventProfilingInfo.info(param, uintptr(e))
	if err != nil || len(b) < 8 {
		return 0, err
	}
	return binary.NativeEndian.Uint64(b), nil
}

// ReleaseEvent counts one user less.
func ReleaseEvent(e EventID) error { return clReleaseEvent.status(uintptr(e)) }
