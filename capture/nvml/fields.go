//go:build linux && cgo && !nonvml

package nvml

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
	"orrery/traces"
)

// allLinks asks for the sum over the NVLinks of a GPU.
const allLinks = math.MaxUint32

// field is a value that has no call of its own.
type field struct {
	column    string
	id, scope uint32
	store     func(*capture.Reading, float64)
}

// NVML counts NVLink in KiB.
var fields = []field{
	{"mem_temperature", nvml.FI_DEV_MEMORY_TEMP, 0, func(r *capture.Reading, v float64) { r.MemTemperature = traces.Some(v) }},
	{"nvlink_rx", nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, allLinks, func(r *capture.Reading, v float64) { r.NVLinkRx = counter(float64(v * 1024)) }},
	{"nvlink_tx", nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, allLinks, func(r *capture.Reading, v float64) { r.NVLinkTx = counter(float64(v * 1024)) }},
	{"pcie_rx", nvml.FI_DEV_PCIE_COUNT_RX_BYTES, 0, func(r *capture.Reading, v float64) { r.PCIeRx = counter(v) }},
	{"pcie_tx", nvml.FI_DEV_PCIE_COUNT_TX_BYTES, 0, func(r *capture.Reading, v float64) { r.PCIeTx = counter(v) }},
	{linkErrors, nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, 0, addLinkErrors},
	{linkErrors, nvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, 0, addLinkErrors},
	{linkErrors, nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 0, addLinkErrors},
	{linkErrors, nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 0, addLinkErrors},
}

// linkErrors is the column that is the sum of several fields, those that the GPU has.
const linkErrors = "nvlink_errors"

func addLinkErrors(r *capture.Reading, v float64) {
	if v >= 0 && r.NVLinkErrors.V >= 0 {
		v += float64(r.NVLinkErrors.V)
	} else {
		v = -1
	}
	r.NVLinkErrors = counter(v)
}

func readFields(g *gpu, r *capture.Reading) nvml.Return {
	if len(g.fields) == 0 {
		return nvml.ERROR_NOT_SUPPORTED
	}
	if ret := g.device.GetFieldValues(g.fields); ret != nvml.SUCCESS {
		return ret
	}
	kept, failed, answered := g.fields[:0], nvml.SUCCESS, false
	var why []string
	for _, f := range g.fields {
		known := slices.IndexFunc(fields, func(k field) bool { return k.id == f.FieldId })
		if known < 0 { // the driver answers another question
			continue
		}
		switch ret := nvml.Return(f.NvmlReturn); ret {
		case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_NO_PERMISSION:
			continue
		case nvml.SUCCESS:
			answered = true
			fields[known].store(r, number(&f))
		default:
			failed = ret
			why = append(why, fieldsCall+", "+fields[known].column+": "+retName(ret))
		}
		kept = append(kept, f)
	}
	g.fields = kept
	if slices.ContainsFunc(why, func(w string) bool { return strings.HasPrefix(w, fieldsCall+", "+linkErrors+": ") }) {
		r.NVLinkErrors = traces.Opt[int64]{} // a sum without one of its parts would be less than the one before
	}
	if failed != nvml.SUCCESS && !answered {
		return failed // one for all
	}
	r.Failed = append(r.Failed, why...)
	g.pcie[0].extend(&r.PCIeRx)
	g.pcie[1].extend(&r.PCIeTx)
	return nvml.SUCCESS
}

// number is a value of any of the types that a field may have.
func number(f *nvml.FieldValue) float64 {
	bits := binary.NativeEndian.Uint64(f.Value[:])
	switch nvml.ValueType(f.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(bits)
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(binary.NativeEndian.Uint16(f.Value[:2]))
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(binary.NativeEndian.Uint32(f.Value[:4]))
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(binary.NativeEndian.Uint32(f.Value[:4])))
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(bits))
	}
	return float64(bits)
}
