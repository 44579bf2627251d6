package driver

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/key"
)

// Traits returns what two devices of one name can differ in, as far as the device has
// extensions to ask for it, and the processor where that is the device.
func (d Device) Traits() []key.Pair {
	var t []key.Pair
	add := func(name, value string) {
		if value != "" {
			t = append(t, key.Pair{Name: name, Value: value})
		}
	}
	hex := func(param uint32) string {
		if n, ok := d.number(param); ok {
			return "0x" + strconv.FormatUint(n, 16)
		}
		return ""
	}
	add("vendor id", hex(cl.DeviceVendorID))
	add("type", d.Type)
	add("address bits", strconv.Itoa(d.AddressBits))
	add("OpenCL C", d.CVersion)
	if d.Has("cl_intel_device_attribute_query") {
		add("device id", hex(cl.DeviceIDIntel))
		add("IP version", hex(cl.DeviceIPVersionIntel))
	}
	add("compute capability", d.capability())
	if d.Has("cl_amd_device_attribute_query") {
		// The device name is the gfx target there; the board's says which.
		add("board", cl.Text(d.Ask.Device(d.Device, cl.DeviceBoardNameAMD)))
	}
	if d.CPU {
		// LLVM asks the processor itself what it can, beyond its name.
		model, flags := processor()
		add("processor", model)
		add("processor flags", flags)
	}
	return t
}

// processor returns the model of this machine's first processor and its instruction set flags,
// sorted, as the kernel names them; where it does not say, the architecture and nothing.
var processor = sync.OnceValues(func() (model, flags string) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH, ""
	}
	defer f.Close()
	// The first processor is enough, and the kernel makes the text as it is
	// read: on a large machine the whole of it takes milliseconds.
	b := make([]byte, 8<<10)
	n, _ := f.Read(b)
	return parseProcessor(string(b[:n]))
})

// parseProcessor reads one block of lines "name : value". Other architectures
// than x86 say "Features" for flags, and name the model in parts.
func parseProcessor(text string) (model, flags string) {
	text, _, _ = strings.Cut(text, "\n\n")
	var parts []string
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "model name":
			parts = append(parts, value)
		case "CPU implementer", "CPU part", "CPU variant", "isa", "uarch", "cpu":
			parts = append(parts, strings.TrimSpace(name)+" "+value)
		case "flags", "Features":
			words := strings.Fields(value)
			words = slices.DeleteFunc(words, func(w string) bool { return indifferent()[w] })
			slices.Sort(words)
			flags = strings.Join(slices.Compact(words), " ")
		}
	}
	if parts == nil {
		parts = []string{runtime.GOARCH}
	}
	return strings.Join(parts, ", "), flags
}

// indifferent are flags of the processor, of its clock, of its mitigations and of virtual machines
// that no compiler looks at. They differ between releases of the kernel, and between a machine and
// a guest on it. A flag that is not known here counts.
var indifferent = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(`
		hypervisor constant_tsc nonstop_tsc nonstop_tsc_s3 tsc_known_freq tsc_reliable tsc_adjust
		tsc_deadline_timer tsc_scale art arat acpi aperfmperf arch_perfmon bts pebs pdcm dtes64 dtherm dts
		est ida pln pts hwp hwp_act_window hwp_epp hwp_notify hwp_pkg_req hfi tm tm2 ht mca mce mtrr
		ibpb ibrs ibrs_enhanced stibp ssbd md_clear flush_l1d arch_capabilities pti spec_ctrl
		amd_ibpb amd_ibrs amd_stibp amd_ssbd virt_ssbd ssbd_no amd_ppin amd_lbr_v2 retpoline rrsba
		vmx svm svm_lock npt lbrv nrip_save vmcb_clean flushbyasid decodeassists pausefilter pfthreshold
		avic v_vmsave_vmload vgif v_spec_ctrl vnmi x2avic tpr_shadow flexpriority ept ept_ad vpid vnmi
		extd_apicid x2apic apic topoext cpuid cmp_legacy cr8_legacy extapic ibs perfctr_core perfctr_nb
		perfctr_llc perfmon_v2 cpb hw_pstate cppc invpcid_single pcid invpcid nopl rep_good xtopology
		cqm cqm_llc cqm_mbm_local cqm_mbm_total cqm_occup_llc cat_l2 cat_l3 cdp_l2 cdp_l3 mba rdt_a
		smep smap umip la57 pku ospke sev sev_es sev_snp sme overflow_recov succor smca bmec debug_swap
		constant_tsc irperf xsaveerptr xgetbv1 dca xtpr monitor mwaitx smx smm skinit wdt nodeid_msr
		ds_cpl pbe ss intel_pt split_lock_detect bus_lock_detect user_shstk epb intel_ppin tme mwaitt`) {
		m[w] = true
	}
	return m
})
