package ze

import "unsafe"

// Handles of what commands are given to, and of what says that they are done.
type (
	QueueID     uintptr // ze_command_queue_handle_t
	ListID      uintptr // ze_command_list_handle_t
	EventPoolID uintptr // ze_event_pool_handle_t
	EventID     uintptr // ze_event_handle_t
)

var (
	zeCommandQueueCreate      = entry{name: "zeCommandQueueCreate"}
	zeCommandQueueDestroy     = entry{name: "zeCommandQueueDestroy"}
	zeCommandQueueExecute     = entry{name: "zeCommandQueueExecuteCommandLists"}
	zeCommandQueueSynchronize = entry{name: "zeCommandQueueSynchronize"}
	zeCommandListCreate       = entry{name: "zeCommandListCreate"}
	zeCommandListDestroy      = entry{name: "zeCommandListDestroy"}
	zeCommandListClose        = entry{name: "zeCommandListClose"}
	zeCommandListReset        = entry{name: "zeCommandListReset"}
	zeCommandListLaunch       = entry{name: "zeCommandListAppendLaunchKernel"}
	zeCommandListCopy         = entry{name: "zeCommandListAppendMemoryCopy"}
	zeCommandListFill         = entry{name: "zeCommandListAppendMemoryFill"}
	zeCommandListBarrier      = entry{name: "zeCommandListAppendBarrier"}
	zeEventPoolCreate         = entry{name: "zeEventPoolCreate"}
	zeEventPoolDestroy        = entry{name: "zeEventPoolDestroy"}
	zeEventCreate             = entry{name: "zeEventCreate"}
	zeEventDestroy            = entry{name: "zeEventDestroy"}
	zeEventHostSynchronize    = entry{name: "zeEventHostSynchronize"}
	zeEventQueryStatus        = entry{name: "zeEventQueryStatus"}
)

// CommandQueueCreate makes a queue of a group, which gives its commands to the device
// and does not wait for them.
func CommandQueueCreate(c ContextID, d DeviceID, group int) (QueueID, error) {
	desc := &struct {
		header
		ordinal, index, flags, mode, priority uint32
	}{header: header{stype: stypeCommandQueueDesc}, ordinal: uint32(group)}
	h, err := zeCommandQueueCreate.create(uintptr(c), uintptr(d), uintptr(unsafe.Pointer(desc)))
	return QueueID(h), err
}

// CommandQueueDestroy destroys a queue.
func CommandQueueDestroy(q QueueID) error { return zeCommandQueueDestroy.call(uintptr(q)) }

// CommandQueueExecuteCommandLists gives lists to the device.
func CommandQueueExecuteCommandLists(q QueueID, lists []ListID) error {
	return zeCommandQueueExecute.call(uintptr(q), uintptr(len(lists)), uintptr(addr(lists)), 0)
}

// CommandQueueSynchronize waits for what a queue was given, for so many nanoseconds.
func CommandQueueSynchronize(q QueueID, nanoseconds uint64) error {
	return zeCommandQueueSynchronize.call(uintptr(q), uintptr(nanoseconds))
}

// CommandListCreate makes a list of commands for queues of a group.
func CommandListCreate(c ContextID, d DeviceID, group int) (ListID, error) {
	desc := &struct {
		header
		ordinal, flags uint32
	}{header: header{stype: stypeCommandListDesc}, ordinal: uint32(group)}
	h, err := zeCommandListCreate.create(uintptr(c), uintptr(d), uintptr(unsafe.Pointer(desc)))
	return ListID(h), err
}

// CommandListDestroy destroys a list.
func CommandListDestroy(l ListID) error { return zeCommandListDestroy.call(uintptr(l)) }

// CommandListClose ends a list, so that it can be executed.
func CommandListClose(l ListID) error { return zeCommandListClose.call(uintptr(l)) }

// CommandListReset empties a list.
func CommandListReset(l ListID) error { return zeCommandListReset.call(uintptr(l)) }

// AppendLaunchKernel adds the launch of a kernel in so many groups.
func AppendLaunchKernel(l ListID, k KernelID, groups [3]uint32, signal EventID, wait []EventID) error {
	return zeCommandListLaunch.call(uintptr(l), uintptr(k), uintptr(unsafe.Pointer(&groups)), uintptr(signal), uintptr(len(wait)), uintptr(addr(wait)))
}

// AppendMemoryCopy adds a copy of memory that the device reaches.
func AppendMemoryCopy(l ListID, to, from, size uintptr, signal EventID, wait []EventID) error {
	return zeCommandListCopy.call(uintptr(l), to, from, size, uintptr(signal), uintptr(len(wait)), uintptr(addr(wait)))
}

// AppendMemoryFill adds the filling of memory with a pattern.
func AppendMemoryFill(l ListID, to uintptr, pattern []byte, size uintptr, signal EventID, wait []EventID) error {
	return zeCommandListFill.call(uintptr(l), to, uintptr(addr(pattern)), uintptr(len(pattern)), size, uintptr(signal), uintptr(len(wait)), uintptr(addr(wait)))
}

// AppendBarrier makes what follows wait for what was before.
func AppendBarrier(l ListID) error { return zeCommandListBarrier.call(uintptr(l), 0, 0, 0) }

// EventPoolCreate makes room for n events that the host can wait for.
func EventPoolCreate(c ContextID, d DeviceID, n int) (EventPoolID, error) {
	desc := &struct {
		header
		flags, count uint32
	}{header: header{stype: stypeEventPoolDesc}, flags: 1, count: uint32(n)} // ZE_EVENT_POOL_FLAG_HOST_VISIBLE
	device := []DeviceID{d}
	h, err := zeEventPoolCreate.create(uintptr(c), uintptr(unsafe.Pointer(desc)), 1, uintptr(addr(device)))
	return EventPoolID(h), err
}

// EventPoolDestroy destroys a pool, whose events went before.
func EventPoolDestroy(p EventPoolID) error { return zeEventPoolDestroy.call(uintptr(p)) }

// EventCreate makes the event of a place in a pool.
func EventCreate(p EventPoolID, index int) (EventID, error) {
	desc := &struct {
		header
		index, signal, wait uint32
	}{header: header{stype: stypeEventDesc}, index: uint32(index), signal: 4, wait: 4} // ZE_EVENT_SCOPE_FLAG_HOST
	h, err := zeEventCreate.create(uintptr(p), uintptr(unsafe.Pointer(desc)))
	return EventID(h), err
}

// EventDestroy destroys an event.
func EventDestroy(e EventID) error { return zeEventDestroy.call(uintptr(e)) }

// EventHostSynchronize waits for an event, for so many nanoseconds.
func EventHostSynchronize(e EventID, nanoseconds uint64) error {
	return zeEventHostSynchronize.call(uintptr(e), uintptr(nanoseconds))
}

// EventQueryStatus says whether an event came: NotReady if it did not.
func EventQueryStatus(e EventID) error { return zeEventQueryStatus.call(uintptr(e)) }
