//go:build linux && cgo && !nonvml

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
	"orrery/traces"
)

// prepareEvents makes the set of events of a GPU, in which its XIDs come.
func (s *source) prepareEvents(g *gpu) {
	why := "the library has no such call"
	if s.has("nvmlEventSetCreate") && s.has("nvmlEventSetFree") && s.has("nvmlDeviceRegisterEvents") && s.has("nvmlEventSetWait_v2", "nvmlEventSetWait") {
		set, ret := s.api.EventSetCreate()
		if ret == nvml.SUCCESS {
			if ret = g.device.RegisterEvents(nvml.EventTypeXidCriticalError, set); ret == nvml.SUCCESS {
				g.events = set
				g.deaf.Store(nil)
				return
			}
			_ = s.api.EventSetFree(set)
		}
		why = retName(ret)
	}
	g.deaf.Store(&why)
}

// readEvents adds the XIDs that came since they were read before.
func readEvents(g *gpu, r *capture.Reading) nvml.Return {
	if g.events == nil {
		return nvml.ERROR_NOT_SUPPORTED
	}
	g.kept = true  // the library answers
	for range 16 { // more wait for the next sample
		e, ret := g.events.Wait(0)
		if ret == nvml.ERROR_TIMEOUT {
			break
		}
		if ret != nvml.SUCCESS {
			return ret
		}
		if e.EventType == nvml.EventTypeXidCriticalError {
			r.XIDs = append(r.XIDs, e.EventData)
		}
	}
	return nvml.SUCCESS
}

// Errors are the XIDs that came since the last sample.
func (s *source) Errors(unit int) []capture.Reading {
	g := s.gpus[unit]
	r := capture.Reading{Telemetry: traces.Telemetry{GPU: traces.Some(g.index)}}
	for n := -1; len(r.XIDs) > n; { // a sample leaves those behind the first to the next
		n = len(r.XIDs)
		_ = readEvents(g, &r)
	}
	return withXIDs(nil, &r)
}

// withXIDs appends a reading that came with an error when it has XIDs: they are told once.
func withXIDs(out []capture.Reading, r *capture.Reading) []capture.Reading {
	if len(r.XIDs) > 0 {
		out = append(out, *r)
	}
	return out
}
