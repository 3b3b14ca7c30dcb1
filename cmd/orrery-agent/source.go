package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"orrery/capture"
	"orrery/capture/archive"
	"orrery/capture/host"
	"orrery/capture/nvml"
	"orrery/capture/recorded"
	"orrery/capture/review"
	"orrery/internal/samehost"
	"orrery/traces"
)

// smiQuery asks nvidia-smi for what the table has. A property that a driver does not know fails the whole query: these are old.
const smiQuery = "--query-gpu=index,uuid,utilization.gpu,utilization.memory,memory.used,power.draw,temperature.gpu,clocks.sm,clocks.mem"

// most is what an exporter may answer, B.
const most = 16 << 20

// open is the source that the flags name.
func (s *settings) open() (capture.Source, error) {
	var src capture.Source
	var err error
	switch {
	case s.replay != "":
		return replay(s.replay)
	case s.source == "nvml":
		src, err = nvml.Open(s.library)
	case s.source == "smi":
		src, err = polled("nvidia-smi", recorded.SMICSV, command(s.Interval, "nvidia-smi", smiQuery, "--format=csv"))
	case s.source == "amd-smi":
		src, err = polled("amd-smi", recorded.AMD, command(s.Interval, "amd-smi", "metric", "--json"))
	default: // an exporter, which may be of another node
		return polled(s.source, recorded.Exposition, get(s.Interval, s.source))
	}
	if err != nil || !s.nodeRows {
		return src, err
	}
	return host.WithNode(src, s.Root), nil
}

// known says whether a word names a source.
func known(source string) bool {
	return source == "nvml" || source == "smi" || source == "amd-smi" || strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

func polled(name string, parse recorded.Parser, fetch func() ([]byte, error)) (capture.Source, error) {
	p := &recorded.Polled{Name: name, Parse: parse, Fetch: fetch}
	return p, p.Open()
}

// patience is how long an answer may take: longer than a sample, so that a slow one is late and not failed, and not for ever.
func patience(interval time.Duration) time.Duration { return max(10*interval, 10*time.Second) }

func command(interval time.Duration, name string, args ...string) func() ([]byte, error) {
	return func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience(interval))
		defer cancel()
		out, err := exec.CommandContext(ctx, name, args...).Output()
		if err != nil {
			return nil, fmt.Errorf("running %s: %w", name, err)
		}
		return out, nil
	}
}

func get(interval time.Duration, url string) func() ([]byte, error) {
	client := samehost.Client(patience(interval))
	return func() (text []byte, err error) {
		answer, err := client.Get(url)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, answer.Body.Close()) }()
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answers %s", url, answer.Status)
		}
		return io.ReadAll(io.LimitReader(answer.Body, most))
	}
}

// replay plays the bundles of one node again.
func replay(path string) (capture.Source, error) {
	found, err := archive.Find(path)
	if err != nil {
		return nil, err
	}
	set, err := archive.Open(found)
	if err != nil {
		return nil, err
	}
	sum, err := review.Of(review.Source{Nodes: set.Nodes, Events: set.Events, Telemetry: set.Telemetry, Instances: set.Instances})
	if err != nil {
		return nil, err
	}
	var gpus []int32
	node := ""
	for i := range sum.Series {
		if one := &sum.Series[i]; one.Rows > 0 && (node == "" || one.Node == node) {
			node, gpus = one.Node, append(gpus, one.GPU)
		}
	}
	if len(gpus) == 0 {
		return nil, fmt.Errorf("%s: found no telemetry", path)
	}
	return recorded.Replay(ofNode(set.Telemetry(), func(t *traces.Telemetry) bool { return t.Node == node }),
		ofNode(set.Instances(), func(i *traces.Instance) bool { return i.Node == node }), gpus), nil
}

func ofNode[R any](rows iter.Seq2[*R, error], is func(*R) bool) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		for r, err := range rows {
			if (err != nil || is(r)) && !yield(r, err) {
				return
			}
		}
	}
}
