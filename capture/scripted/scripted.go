// Package scripted makes a libnvidia-ml for tests and for trying the agent without a GPU: C of
// our own, compiled with gcc and loaded as the real one is. It answers by a scenario
// file, which ORRERY_NVML_SCENARIO names. It must not know what is done with the answers.
//
// A scenario has one statement a line; # begins a comment:
//
//	gpus N                          how many there are
//	name TEXT, driver V, vbios V    the same for all
//	links N                         NVLinks of each GPU, to the GPU after it and the rest to a switch
//	mig GPU N                       GPU instances of a GPU, 1 to N: 1g.10gb, 9856 MiB, 16 multiprocessors
//	instance GPU ID PROFILE MIB MULTIPROCESSORS [COMPUTES [FROM UNTIL]]
//	                                one that is divided into COMPUTES compute instances, and there for so long, in s
//	set GPU|GPU/ID|* SERIES CURVE   what a series does over time, in s since the library was loaded
//	process GPU PID BYTES [I]       a process on a GPU, or in its GPU instance I, and the first compute instance of that
//	dead AFTER                      every call on a GPU fails from then on, in s; XIDs are still told
//	fault GPU hang AFTER FOR        reading its power blocks from then on, until so many s later
//	fault GPU lost AFTER            every call says that it is lost
//	fault GPU xid AFTER CODE        the driver reports an error, once
//	fault GPU|* failing SERIES      the call, or the field, fails
//	fault GPU/ID … SERIES           these two of a GPU instance
//	fault GPU|* unsupported SERIES  the call answers NOT_SUPPORTED; xid for reports of errors. 16 sets of events may be open at a time
//
// A SERIES is util, mem_util, mem_used, power (mW), energy (mJ), sm_clock, mem_clock, throttle,
// temperature, mem_temperature, ecc_corrected, ecc_uncorrected, retired, sm_active (%), nvlink_rx,
// nvlink_tx (KiB), pcie_rx, pcie_tx (B), tensor_active, dram_active (%), power_violation, thermal_violation (ns) or
// link_errors (each of three counters, and half of the fourth). Of a GPU instance mem_used and the activities count, after the statement that makes it. GPM is there where sm_active is. A CURVE is const V, ramp FROM TO SECONDS, sine MEAN AMPLITUDE
// PERIOD, square LOW HIGH PERIOD, or rate START PER-SECOND [WRAP], a counter that begins anew at WRAP.
package scripted

import (
	_ "embed" // the C source
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed testdata/nvml.c
var source string

// Scenario is the environment variable that names the scenario file.
const Scenario = "ORRERY_NVML_SCENARIO"

// Build compiles the library into dir and returns its path. Symbols that are named in
// missing are not in it. It needs gcc, and the header of go-nvml in the module cache.
func Build(dir string, missing ...string) (string, error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		return "", fmt.Errorf("finding the header of go-nvml: %w", err)
	}
	file, out := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return "", err
	}
	args := []string{"-shared", "-fPIC", "-O1", "-w", "-I", filepath.Join(strings.TrimSpace(string(module)), "pkg", "nvml"), "-o", out, file, "-lm", "-lpthread"}
	for _, symbol := range missing {
		args = append(args, "-D"+symbol+"=absent_"+symbol)
	}
	if said, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the library: %w\n%s", err, said)
	}
	return out, nil
}
