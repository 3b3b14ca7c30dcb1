//go:build linux && cgo && !nonvml

package nvml

import (
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
)

// columns are those of telemetry, with the call that fills each, the newest where there are several, and whether it is there. Without that it is
// there when the call succeeds.
var columns = []struct {
	name, call string
	there      func(*capture.Reading) bool
}{
	{"sm_util", "utilisation", func(r *capture.Reading) bool { return r.SMUtil.OK }},
	{"mem_util", "utilisation", func(r *capture.Reading) bool { return r.MemUtil.OK }},
	{"sm_active", gpmCall, nil},
	{"mem_used", "memory", func(r *capture.Reading) bool { return r.MemUsed.OK }},
	{"power", "power", func(r *capture.Reading) bool { return r.Power.OK }},
	{"energy", "energy", func(r *capture.Reading) bool { return r.Energy.OK }},
	{"sm_clock", "SM clock", func(r *capture.Reading) bool { return r.SMClock.OK }},
	{"mem_clock", "memory clock", func(r *capture.Reading) bool { return r.MemClock.OK }},
	{"throttle", "throttle reasons", func(r *capture.Reading) bool { return r.Throttle.OK }},
	{"temperature", "temperature", func(r *capture.Reading) bool { return r.Temperature.OK }},
	{"mem_temperature", fieldsCall, func(r *capture.Reading) bool { return r.MemTemperature.OK }},
	{"ecc_corrected", "corrected ECC errors", func(r *capture.Reading) bool { return r.ECCCorrected.OK }},
	{"ecc_uncorrected", "uncorrected ECC errors", func(r *capture.Reading) bool { return r.ECCUncorrected.OK }},
	{"retired_pages", "remapped rows", func(r *capture.Reading) bool { return r.RetiredPages.OK }},
	{"nvlink_rx", fieldsCall, func(r *capture.Reading) bool { return r.NVLinkRx.OK }},
	{"nvlink_tx", fieldsCall, func(r *capture.Reading) bool { return r.NVLinkTx.OK }},
	{"pcie_rx", fieldsCall, func(r *capture.Reading) bool { return r.PCIeRx.OK }},
	{"pcie_tx", fieldsCall, func(r *capture.Reading) bool { return r.PCIeTx.OK }},
	{"processes", "processes", nil},
	{"tensor_active", gpmCall, nil},
	{"dram_active", gpmCall, nil},
	{"power_violation", "power violation", func(r *capture.Reading) bool { return r.PowerViolation.OK }},
	{"thermal_violation", "thermal violation", func(r *capture.Reading) bool { return r.ThermalViolation.OK }},
	{linkErrors, fieldsCall, func(r *capture.Reading) bool { return r.NVLinkErrors.OK }},
}

// probeWait is how long the inventory waits for the columns of a GPU. A call of a sample may hang, and must not keep an agent from starting.
const probeWait = time.Second

// columns names those that the GPU has no value for.
func (a *asker) columns(d nvml.Device) {
	answer := make(chan []capture.Missing, 1)
	a.s.probing.Add(1)
	go func() {
		answer <- a.s.lacks(d)
		a.s.probing.Add(-1)
	}()
	select {
	case missing := <-answer:
		for _, m := range missing {
			a.v.Lack(a.prefix+m.Name, m.Why)
		}
	case <-time.After(probeWait):
		a.v.Lack(a.prefix+"telemetry", "no answer within "+probeWait.String())
	}
}

// lacks makes the calls of a sample once, beside those that are under way.
func (s *source) lacks(d nvml.Device) (missing []capture.Missing) {
	g := &gpu{device: d}
	s.prepareCalls(g)
	var r capture.Reading
	rets := map[string]nvml.Return{}
	for _, c := range g.calls {
		rets[c.name] = c.read(g, &r)
	}
	if s.hasGPM() {
		var p *pair
		p, rets[gpmCall] = s.newPair(d.GpmSampleGet)
		s.free(p)
	}
	for _, c := range columns {
		ret, asked := rets[c.call]
		switch {
		case c.there != nil && c.there(&r), c.there == nil && asked && ret == nvml.SUCCESS:
		case !asked:
			missing = append(missing, capture.Missing{Name: "telemetry." + c.name, Why: "the library has no such call"})
		case ret == nvml.SUCCESS:
			missing = append(missing, capture.Missing{Name: "telemetry." + c.name, Why: failure(&r, c.call, c.name)})
		default:
			missing = append(missing, capture.Missing{Name: "telemetry." + c.name, Why: retName(ret)})
		}
	}
	return append(missing, s.partsLack(d)...)
}

// failure is why a column has no value although the call that fills it beside others succeeded.
func failure(r *capture.Reading, call, column string) string {
	for _, f := range r.Failed {
		if why, ok := strings.CutPrefix(f, call+", "+column+": "); ok {
			return why
		}
	}
	return "not supported"
}
