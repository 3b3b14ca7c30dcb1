package main

import "orrery/capture/sample"

// writeSample writes a capture as capture sample does.
func writeSample(out string, c *sample.Capture) error {
	_, err := (&sampleVerb{out: out}).write(c)
	return err
}
