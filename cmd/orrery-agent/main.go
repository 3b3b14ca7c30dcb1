// Command orrery-agent measures the GPUs of the node that it runs on and writes bundles of telemetry. It
// is a program of its own because it links the binding of NVML, which cannot start under
// LD_BIND_NOW=1; 'orrery capture nvml' starts it. This package turns flags and signals into calls of
// capture/agent; it must not know how a sample is taken.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"orrery/capture"
	"orrery/capture/agent"
	"orrery/capture/pods"
)

// Exit codes, those of orrery.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	// An agent is to take next to nothing from the jobs of its node: one thread runs at a time, so that none spins for
	// work, and the heap, which is small, is collected seldom. A call that hangs does not hold the thread.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(200)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	agent.Options
	library   string
	source    string
	replay    string
	listen    string
	mode      string
	inventory bool
	version   bool
	verbose   bool
	nodeRows  bool
}

func parse(args []string, help io.Writer) (*settings, error) {
	s := &settings{Options: agent.Defaults()}
	s.Node = agent.Node()
	f := pflag.NewFlagSet("orrery-agent", pflag.ContinueOnError)
	f.SetOutput(help)
	f.SortFlags = false
	s.flags(f)
	f.Usage = func() {
		fmt.Fprintf(help, "Usage: orrery-agent --out DIR [flags]\n       orrery-agent history http://HOST:9090 --from TIME --out OUT.trace\n\n"+
			"Measure the NVIDIA GPUs of this node. SIGUSR1 switches to debug, SIGUSR2 back, SIGTERM writes what there is and ends. history makes a bundle\n"+
			"of what a Prometheus server has kept; 'orrery-agent history --help' says how.\n\n%s\n"+
			"Exit codes: 0 ended by SIGTERM or --for, 1 no driver, or failed, 2 usage, 130 interrupted.\n", f.FlagUsages())
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if s.version {
		return s, nil
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the folder is named by --out", f.Arg(0))
	}
	s.Mode = agent.Mode(s.mode)
	switch s.Pods {
	case "off":
		s.Pods = ""
	case "":
		if socket := filepath.Join(s.Root, pods.Socket); there(socket) {
			s.Pods = socket
		}
	}
	if !f.Changed("window") {
		s.Window = multipleOf(s.Interval, s.Window)
	}
	if !f.Changed("audit-window") {
		s.Audit = multipleOf(s.Interval, s.Audit)
	}
	if !known(s.source) {
		return nil, fmt.Errorf("source %q: want nvml, smi, amd-smi or an address that begins with http://", s.source)
	}
	if s.inventory {
		return s, nil
	}
	return s, s.Validate()
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// multipleOf is the least multiple of the interval that is no shorter than d.
func multipleOf(interval, d time.Duration) time.Duration {
	if interval <= 0 {
		return d
	}
	return (d + interval - 1) / interval * interval
}

// flags adds them all.
func (s *settings) flags(f *pflag.FlagSet) {
	f.StringVar(&s.Out, "out", "", "write bundles into `DIR`, which is made when it is not there")
	f.DurationVar(&s.Interval, "interval", s.Interval, "take a sample every `DUR`, 10ms to 1m")
	f.Float64Var(&s.Jitter, "jitter", 0, "take each sample later than it is due by up to this `SHARE` of the interval, 0 to 0.5, against loads that repeat in step with it")
	f.StringVar(&s.mode, "mode", string(s.Mode), "what is written: `prod` (windows of 30 s), debug (every sample) or audit (windows of 10 s)")
	f.DurationVar(&s.Window, "window", s.Window, "length of the windows of prod, a multiple of the interval; by default the next one")
	f.DurationVar(&s.Audit, "audit-window", s.Audit, "length of the windows of audit, likewise")
	f.DurationVar(&s.DebugFor, "debug-for", s.DebugFor, "debug that was switched on by SIGUSR1 ends after `DUR`")
	f.DurationVar(&s.Rotate, "rotate", s.Rotate, "begin a new bundle every `DUR`")
	f.Int64Var(&s.MaxDisk, "max-disk", s.MaxDisk, "the folder holds no more than `BYTES`; the oldest bundles are removed")
	f.DurationVar(&s.Again, "inventory-every", s.Again, "take the inventory and its fingerprint again every `DUR`")
	f.Float64Var(&s.HotAt, "hot", 0, "alert from `CELSIUS` on; 0 for 3 below where the GPU slows down")
	f.DurationVar(&s.HungAfter, "hung-after", s.HungAfter, "alert when a GPU does not answer for `DUR`")
	f.DurationVar(&s.For, "for", 0, "end after `DUR`; 0 for never")
	f.StringVar(&s.Node, "node", s.Node, "`NAME` of the node, as the scheduler has it")
	f.StringVar(&s.Root, "root", s.Root, "`DIR` where /proc and /sys of the node are, in a container")
	f.BoolVar(&s.nodeRows, "node-rows", true, "with nvml, smi and amd-smi, measure the node as a whole as well, by /proc and /sys below --root")
	f.StringVar(&s.Pods, "pod-resources", "", "ask the kubelet at the socket `PATH` which pods hold the GPUs; by default at /"+pods.Socket+" below --root where that is there, off for not at all")
	f.StringVar(&s.library, "library", "", "`PATH` of libnvidia-ml.so.1, by default where the loader finds it")
	f.StringVar(&s.source, "source", "nvml", "`SOURCE` that is measured by: nvml, smi (nvidia-smi), amd-smi (never tried on hardware), or http://HOST:PORT/metrics of DCGM-exporter or node-exporter")
	f.StringVar(&s.replay, "replay", "", "in place of a source, play the bundles of one node in `PATH` again, as if it were measured now")
	f.StringVar(&s.listen, "listen", "127.0.0.1:9465", "answer Prometheus at `HOST:PORT`/metrics; off for not at all")
	f.BoolVar(&s.inventory, "inventory", false, "print the inventory and the fingerprint as JSON, and end")
	f.BoolVar(&s.version, "version", false, "print the version, and end")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log each sample that fails, and not only the first of several")
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "history" {
		return runHistory(args[1:], stdout, stderr)
	}
	s, err := parse(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "orrery-agent: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n\t"))
		return exitUsage
	}
	if s.version {
		fmt.Fprint(stdout, version())
		return exitOK
	}
	src, err := s.open()
	if err != nil {
		fmt.Fprintf(stderr, "orrery-agent: %v\n", err)
		return exitFailed
	}
	if s.inventory {
		err = printInventory(src, s.Root, stdout)
	} else {
		return s.measure(src, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "orrery-agent: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// printInventory prints what a node is made of.
func printInventory(src capture.Source, root string, stdout io.Writer) error {
	v, err := agent.Inventory(src, root)
	if err != nil {
		return err
	}
	out := json.NewEncoder(stdout)
	out.SetIndent("", "  ")
	return errors.Join(out.Encode(struct {
		Fingerprint string   `json:"fingerprint"`
		Of          []string `json:"fingerprint_of"`
		*capture.Inventory
	}{capture.Fingerprint(v), capture.FingerprintLines(v), v}), src.Close())
}

// measure runs the agent until a signal.
func (s *settings) measure(src capture.Source, stderr io.Writer) int {
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	a, err := agent.New(src, s.Options, log)
	if err != nil {
		fmt.Fprintf(stderr, "orrery-agent: %v\n", err)
		return exitFailed
	}
	if s.listen != "off" {
		server, err := serve(s.listen, a.Metrics(), log)
		if err != nil {
			fmt.Fprintf(stderr, "orrery-agent: %v\n", err)
			return exitFailed
		}
		defer server.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupted := false
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	for {
		select {
		case got := <-signals:
			switch got {
			case syscall.SIGUSR1:
				a.SetMode(agent.Debug)
			case syscall.SIGUSR2:
				a.SetMode(s.Mode)
			default:
				interrupted = interrupted || got == os.Interrupt
				cancel()
			}
		case err := <-done:
			switch {
			case err != nil:
				fmt.Fprintf(stderr, "orrery-agent: %v\n", err)
				return exitFailed
			case interrupted:
				return exitInterrupted
			}
			return exitOK
		}
	}
}

// serve answers Prometheus. An address that other machines reach is taken as it is told.
func serve(address string, metrics http.Handler, log *slog.Logger) (*http.Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for Prometheus: %w", err)
	}
	if host, _, _ := net.SplitHostPort(l.Addr().String()); !net.ParseIP(host).IsLoopback() {
		log.Warn("the metrics can be read from other machines", "address", l.Addr())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the metrics have ended", "error", err)
		}
	}()
	log.Info("metrics", "address", "http://"+l.Addr().String()+"/metrics")
	return server, nil
}
