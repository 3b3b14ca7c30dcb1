package recorded

import (
	"encoding/json"
	"strings"

	"orrery/traces"
)

// amdValue is a number with its unit, or a word for none.
type amdValue struct {
	Value json.RawMessage `json:"value"`
	Unit  string          `json:"unit"`
}

// text is the number, or a word.
func (v *amdValue) text() string { return strings.Trim(string(v.Value), `"`) }

// amdGPU is what amd-smi metric says of one, as far as the table has it.
type amdGPU struct {
	GPU   *int32 `json:"gpu"`
	Usage struct {
		GFX *amdValue `json:"gfx_activity"`
		UMC *amdValue `json:"umc_activity"`
	} `json:"usage"`
	Power struct {
		Socket *amdValue `json:"socket_power"`
	} `json:"power"`
	Clock map[string]struct {
		Clk *amdValue `json:"clk"`
	} `json:"clock"`
	Temperature struct {
		Hotspot *amdValue `json:"hotspot"`
		Mem     *amdValue `json:"mem"`
	} `json:"temperature"`
	MemUsage struct {
		Used *amdValue `json:"used_vram"`
	} `json:"mem_usage"`
	Energy struct {
		Total *amdValue `json:"total_energy_consumption"`
	} `json:"energy"`
	ECC struct {
		Correctable   json.RawMessage `json:"total_correctable_count"`
		Uncorrectable json.RawMessage `json:"total_uncorrectable_count"`
	} `json:"ecc"`
}

// AMD reads amd-smi metric --json: an array of GPUs, or an object with gpu_data. It was written from the documentation of
// amd-smi and never tried on hardware.
func AMD(text []byte, o Options) ([]traces.Telemetry, error) {
	var list []amdGPU
	if err := json.Unmarshal(text, &list); err != nil {
		var outer struct {
			Data []amdGPU `json:"gpu_data"`
		}
		if err2 := json.Unmarshal(text, &outer); err2 != nil || outer.Data == nil {
			return nil, bad(1, "", err.Error(), "the JSON of amd-smi metric --json")
		}
		list = outer.Data
	}
	var rows []traces.Telemetry
	for i := range list {
		g := &list[i]
		if g.GPU == nil || *g.GPU < 0 {
			if err := o.unread(bad(int64(i+1), "gpu", "no number", "the index of the GPU")); err != nil {
				return nil, err
			}
			continue
		}
		if !o.At.OK {
			return nil, timeless(int64(i+1), "")
		}
		t := traces.Telemetry{Node: o.Node, Time: o.At.V, GPU: traces.Some(*g.GPU)}
		o.read(1)
		for _, f := range []struct {
			name string
			v    *amdValue
			to   target
		}{
			{"gfx_activity", g.Usage.GFX, smUtil}, {"umc_activity", g.Usage.UMC, memUtil}, {"socket_power", g.Power.Socket, power}, {"gfx_0", g.Clock["gfx_0"].Clk, smClock}, {"mem_0", g.Clock["mem_0"].Clk, memClock},
			{"hotspot", g.Temperature.Hotspot, warmth}, {"mem", g.Temperature.Mem, memWarmth}, {"used_vram", g.MemUsage.Used, memUsed}, {"total_energy_consumption", g.Energy.Total, energy},
			{"total_correctable_count", &amdValue{Value: g.ECC.Correctable}, corrected}, {"total_uncorrectable_count", &amdValue{Value: g.ECC.Uncorrectable}, fatal},
		} {
			if f.v == nil {
				continue
			}
			if err := o.put(&t, f.to, f.name, f.v.text(), f.v.Unit); err != nil {
				o.left(f.name+": no number", f.v.text(), 1)
			}
		}
		rows = append(rows, t)
	}
	return rows, nil
}
