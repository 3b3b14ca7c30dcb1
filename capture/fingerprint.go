package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// What the fingerprint is made of: versions of the GPU driver, of the firmware of network
// adapters, of BIOS and BMC, the kernel and its parameters. Nodes that agree in these
// belong to one conformance group.
const (
	FactDriver     = "driver.version"
	FactBIOS       = "bios.version"
	FactBMC        = "bmc.firmware"
	FactKernel     = "kernel.release"
	FactParameters = "kernel.parameters"
	nicPrefix      = "nic."
	nicFirmware    = ".firmware"
)

// one of each is part of every fingerprint, there or missing.
var fingerprinted = []string{FactDriver, FactBIOS, FactBMC, FactKernel, FactParameters}

// NICFirmware is the name of the fact about the firmware of a network adapter.
func NICFirmware(device string) string { return nicPrefix + device + nicFirmware }

// Fingerprint is the conformance fingerprint, 64 hex digits: the SHA-256 of one line
// "name=value" for each fact that counts, sorted, each ended by a line feed. A fact that is missing
// is a line "name:missing", so that a node of which less is known is not taken for an equal one.
// The order of facts makes no difference.
func Fingerprint(v *Inventory) string {
	sum := sha256.Sum256([]byte(strings.Join(FingerprintLines(v), "\n") + "\n"))
	return hex.EncodeToString(sum[:])
}

// FingerprintLines are the lines that Fingerprint hashes.
func FingerprintLines(v *Inventory) []string {
	var lines []string
	nics := false
	for _, f := range v.Facts {
		switch {
		case isNIC(f.Name):
			nics = true
			lines = append(lines, f.Name+"="+f.Value)
		case f.Name == FactParameters:
			lines = append(lines, f.Name+"="+Parameters(f.Value))
		case slices.Contains(fingerprinted, f.Name):
			lines = append(lines, f.Name+"="+f.Value)
		}
	}
	for _, m := range v.Missing {
		if isNIC(m.Name) {
			nics = true
			lines = append(lines, m.Name+":missing")
		}
	}
	for _, name := range fingerprinted {
		if v.Value(name) == "" {
			lines = append(lines, name+":missing")
		}
	}
	if !nics {
		lines = append(lines, "nic.firmware:missing")
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func isNIC(name string) bool {
	return strings.HasPrefix(name, nicPrefix) && strings.HasSuffix(name, nicFirmware)
}

// ownParameters name the disk, the address or the name of one node. They differ on nodes
// that are otherwise equal.
var ownParameters = []string{"BOOT_IMAGE", "BOOTIF", "initrd", "root", "resume", "ip", "cryptdevice", "rd.luks.uuid", "rd.lvm.lv", "rd.md.uuid",
	"systemd.hostname", "systemd.machine_id", "hostname"}

// Parameters are the boot parameters as the fingerprint takes them: without those that name the
// disk or address of one node, sorted by key. Those of one key keep their order, in which the
// last may win.
func Parameters(commandLine string) string {
	words := slices.DeleteFunc(strings.Fields(commandLine), func(w string) bool {
		key, _, _ := strings.Cut(w, "=")
		return slices.Contains(ownParameters, key)
	})
	slices.SortStableFunc(words, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return strings.Join(words, " ")
}

// Drift lists the lines of the fingerprint that are in one inventory only, those gone with
// "-" before them, those new with "+".
func Drift(before, after *Inventory) (changed []string) {
	old, now := FingerprintLines(before), FingerprintLines(after)
	for _, line := range old {
		if !slices.Contains(now, line) {
			changed = append(changed, "-"+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			changed = append(changed, "+"+line)
		}
	}
	return changed
}
