package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func node() *Inventory {
	v := &Inventory{}
	v.Add("gpu.0.vbios", "96.00.61.00.01") // no part of it
	v.Add(FactDriver, "550.54.15")
	v.Add(NICFirmware("mlx5_0"), "28.39.1002")
	v.Add(NICFirmware("mlx5_1"), "28.39.1002")
	v.Add(FactBIOS, "2.1.3")
	v.Add(FactKernel, "5.14.0-427.el9.x86_64")
	v.Add(FactParameters, "BOOT_IMAGE=/vmlinuz root=UUID=5f1c console=tty0 iommu=pt console=ttyS0")
	v.Lack(FactBMC, "no such file")
	return v
}

// byHand was computed with sha256sum over these seven lines, written by hand:
//
//	bios.version=2.1.3
//	bmc.firmware:missing
//	driver.version=550.54.15
//	kernel.parameters=console=tty0 console=ttyS0 iommu=pt
//	kernel.release=5.14.0-427.el9.x86_64
//	nic.mlx5_0.firmware=28.39.1002
//	nic.mlx5_1.firmware=28.39.1002
const byHand = "816b35fcef012169ac39177db833fb5ab547cd2e52d529f4f4df6d42e2ec7ac4"

func TestFingerprintByHand(t *testing.T) {
	require.Equal(t, byHand, Fingerprint(node()))
}

func TestFingerprintIgnoresOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		v := node()
		r.Shuffle(len(v.Facts), func(i, j int) { v.Facts[i], v.Facts[j] = v.Facts[j], v.Facts[i] })
		require.Equal(t, byHand, Fingerprint(v))
	}
}

// Each fact that counts changes the fingerprint, and no other does.
func TestFingerprintChanges(t *testing.T) {
	seen := map[string]string{byHand: "nothing changed"}
	for i, f := range node().Facts {
		v := node()
		v.Facts[i].Value += "x"
		got := Fingerprint(v)
		if f.Name == "gpu.0.vbios" {
			require.Equal(t, byHand, got)
			continue
		}
		require.Empty(t, seen[got], f.Name)
		seen[got] = f.Name
		drift := Drift(node(), v)
		require.Len(t, drift, 2, f.Name)
	}
	other := node()
	other.Facts[len(other.Facts)-1].Value = "BOOT_IMAGE=/boot/vmlinuz root=UUID=77aa iommu=pt console=tty0 console=ttyS0"
	require.Equal(t, byHand, Fingerprint(other), "the disk of a node and the order of different keys do not count")
	other.Facts[len(other.Facts)-1].Value = "console=ttyS0 iommu=pt console=tty0"
	require.NotEqual(t, byHand, Fingerprint(other), "of two consoles the last counts")
}

// What is missing is recorded: such a node equals no node of which it is known.
func TestFingerprintOfWhatIsMissing(t *testing.T) {
	sum := sha256.Sum256([]byte("bios.version:missing\nbmc.firmware:missing\ndriver.version:missing\nkernel.parameters:missing\n" +
		"kernel.release:missing\nnic.firmware:missing\n"))
	require.Equal(t, hex.EncodeToString(sum[:]), Fingerprint(&Inventory{}))
	v := node()
	v.Facts = slices.DeleteFunc(v.Facts, func(f Fact) bool { return f.Name == NICFirmware("mlx5_1") })
	v.Lack(NICFirmware("mlx5_1"), "permission denied")
	require.NotEqual(t, byHand, Fingerprint(v))
	require.Equal(t, []string{"-nic.mlx5_1.firmware=28.39.1002", "+nic.mlx5_1.firmware:missing"}, Drift(node(), v))
}
