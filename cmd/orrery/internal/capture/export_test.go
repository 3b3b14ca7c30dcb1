package capture

import (
	"orrery/capture/sample"
)

// WriteSample writes a capture as capture sample does.
func WriteSample(out string, c *sample.Capture) error {
	_, err := (&sampleVerb{out: out}).write(c)
	return err
}
