package agent

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"orrery/capture"
	"orrery/capture/pods"
)

// podsEvery is how often the kubelet is asked which pods hold the GPUs, and podsWithin how long it may take.
const (
	podsEvery  = 10 * time.Second
	podsWithin = 5 * time.Second
)

// holders knows which pod holds a GPU. It is filled by one goroutine and read by another.
type holders struct {
	socket string
	by     atomic.Pointer[map[string]string] // by UUID: namespace/pod/container; "" where several hold it
}

// follow asks until ctx ends. Without an answer no holder is known: an old one may be of pods that are gone.
func (h *holders) follow(ctx context.Context, log *slog.Logger, failed func()) {
	client, said := pods.New(h.socket), ""
	tick := time.NewTicker(podsEvery)
	defer tick.Stop()
	for {
		asked, stop := context.WithTimeout(ctx, podsWithin)
		list, err := client.List(asked)
		stop()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.by.Store(nil)
			failed()
			if why := err.Error(); why != said { // once, and not with each
				said = why
				log.Warn("the kubelet does not say which pods hold the GPUs", "error", err)
			}
		} else {
			said = ""
			by := holding(list)
			h.by.Store(&by)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// holding says which container holds each device. A GPU that is shared has several IDs, which differ behind ::.
func holding(list []pods.Device) map[string]string {
	by := map[string]string{}
	for _, d := range list {
		id, _, _ := strings.Cut(d.ID, "::")
		holder := d.Namespace + "/" + d.Pod + "/" + d.Container
		if before, held := by[id]; held && before != holder {
			holder = ""
		}
		by[id] = holder
	}
	return by
}

// name puts the pod into processes that run in one, by their cgroup, where one alone holds the GPU as a whole, or of a part
// of one the MIG device.
func (h *holders) name(uuid string, procs []capture.Process, part bool) {
	by := h.by.Load()
	if by == nil || uuid == "" {
		return
	}
	holder := (*by)[uuid]
	for i := range procs {
		if p := &procs[i]; strings.Contains(p.Container, "/") && (part || p.Instance == "") {
			p.Pod = holder
		}
	}
}

// uuidOf is that of a GPU by its index, "" where it is not known.
func uuidOf(v *capture.Inventory, gpu int32) string {
	for i := range v.GPUs {
		if v.GPUs[i].Index == gpu {
			return v.GPUs[i].UUID
		}
	}
	return ""
}
