package ze

import (
	"runtime"
	"unsafe"
)

var (
	zeInit                = entry{name: "zeInit"}
	zeDeviceGetQueueProps = entry{name: "zeDeviceGetCommandQueueGroupProperties"}
	zeContextCreate       = entry{name: "zeContextCreate"}
	zeContextDestroy      = entry{name: "zeContextDestroy"}
)

// Init loads the drivers.
func Init() error { return zeInit.call(0) }

// list calls a function that fills an array, after asking how long it is.
func (e *entry) list(args ...uintptr) ([]uintptr, error) {
	n := new(uint32)
	pinned := pin(unsafe.Pointer(n))
	defer pinned.Unpin()
	with := func(to unsafe.Pointer) error {
		return e.call(append(append([]uintptr{}, args...), uintptr(unsafe.Pointer(n)), uintptr(to))...)
	}
	if err := with(nil); err != nil || *n == 0 {
		return nil, err
	}
	all := make([]uintptr, *n)
	pinned.Pin(&all[0])
	err := with(addr(all))
	return all[:min(int(*n), len(all))], err
}

// Drivers returns the drivers that the loader has.
func (q *Queries) Drivers() ([]DriverID, error) { return ids[DriverID](q.driverGet.list()) }

// Devices returns a driver's root devices.
func (q *Queries) Devices(d DriverID) ([]DeviceID, error) {
	return ids[DeviceID](q.deviceGet.list(uintptr(d)))
}

// SubDevices returns the parts of a device; none is not an error.
func (q *Queries) SubDevices(d DeviceID) ([]DeviceID, error) {
	return ids[DeviceID](q.deviceGetSubDevices.list(uintptr(d)))
}

func ids[T ~uintptr](h []uintptr, err error) ([]T, error) {
	all := make([]T, len(h))
	for i := range h {
		all[i] = T(h[i])
	}
	return all, err
}

// QueueGroup is ze_command_queue_group_properties_t.
type QueueGroup struct {
	header
	Flags          uint32
	MaxFillPattern uintptr
	Queues         uint32
}

// ComputeQueues is the flag of a group that takes kernels.
const ComputeQueues = 1

// QueueGroups returns the groups of queues that a device has.
func QueueGroups(d DeviceID) ([]QueueGroup, error) {
	n := new(uint32)
	if err := zeDeviceGetQueueProps.call(uintptr(d), uintptr(unsafe.Pointer(n)), 0); err != nil || *n == 0 {
		return nil, err
	}
	all := make([]QueueGroup, *n)
	for i := range all {
		all[i].stype = stypeQueueGroupProperties
	}
	err := zeDeviceGetQueueProps.call(uintptr(d), uintptr(unsafe.Pointer(n)), uintptr(addr(all)))
	return all[:min(int(*n), len(all))], err
}

// ContextID is a ze_context_handle_t.
type ContextID uintptr

// ContextCreate makes a context on a driver.
func ContextCreate(d DriverID) (ContextID, error) {
	desc := &struct {
		header
		flags uint32
	}{header: header{stype: stypeContextDesc}}
	h, err := zeContextCreate.create(uintptr(d), uintptr(unsafe.Pointer(desc)))
	return ContextID(h), err
}

// ContextDestroy destroys a context.
func ContextDestroy(c ContextID) error { return zeContextDestroy.call(uintptr(c)) }

// pin keeps what is pointed to in place until Unpin.
func pin(p ...unsafe.Pointer) *runtime.Pinner {
	pinned := new(runtime.Pinner)
	for _, one := range p {
		if one != nil {
			pinned.Pin(one)
		}
	}
	return pinned
}
