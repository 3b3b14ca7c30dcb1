package catalogue

import (
	"slices"
	"strconv"
)

// Class is what public tables say of a class of work.
type Class struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Throughput on GPUs, relative to one h100-sxm, by their names.
	Throughput []Relative `json:"throughput"`
	// Caps are throughputs under a power cap, by the cap as a part of what the job draws.
	Caps   []CapPoint `json:"caps,omitempty"`
	Source string     `json:"source"`
	Doubt  string     `json:"doubt"`
}

// Relative is a throughput relative to another GPU.
type Relative struct {
	GPU   string  `json:"gpu"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// CapPoint is a throughput under a cap, both relative to those without one.
type CapPoint struct {
	Draw       float64 `json:"draw"`
	Throughput float64 `json:"throughput"`
}

// Classes are all, in the order of their tables.
func Classes() []Class { return slices.Clone(classes) }

// FindClass is a class by its name.
func FindClass(name string) (Class, bool) {
	i := slices.IndexFunc(classes, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return Class{}, false
	}
	return classes[i], true
}

const (
	lambda  = "lambda-deeplearning-benchmark, training on one GPU, FP16"
	mlperf  = "mlcommons/inference_results_v4.1, closed, datacenter, offline, by accelerator, the best submission"
	batches = "batch sizes grow with memory, so ratios hold memory too; the same GPU differs by up to 6 % between its two files, which is the range"
	makers  = "five submitters of the same machine differ by 1 to 8 %, which is the range"
)

// capsOfTraining is 1 - 0.87·(1.14 - x)² for x = cap ÷ draw, as fitted to six training jobs
// on one V100 (ml-energy/zeus, NSDI 2023), from 0.6 of the draw on: below, cards differ.
var capsOfTraining = []CapPoint{{0.6, 0.746}, {0.7, 0.832}, {0.8, 0.899}, {0.9, 0.95}, {0.95, 0.969}}

// trainingGPUs and servingGPUs are the GPUs of the tables, in the order of their columns.
var (
	trainingGPUs = []string{"v100-sxm2", "a100-pcie-40", "a100-pcie-80", "a100-sxm-80", "h100-pcie", "h200-sxm"}
	servingGPUs  = []string{"h200-sxm", "h100-pcie", "h100-nvl", "l40s"}
)

// relatives are throughputs relative to h100-sxm, known to a part of themselves.
func relatives(gpus []string, within float64, values ...float64) []Relative {
	out := []Relative{{"h100-sxm", 1, 1, 1}}
	for i, v := range values {
		out = append(out, Relative{gpus[i], v, float64(v * (1 - within)), float64(v * (1 + within))})
	}
	return out
}

func trained(name, title string, values ...float64) Class {
	return Class{
		Name: "train-" + name, Title: "training of " + title, Throughput: relatives(trainingGPUs, 0.06, values...), Caps: capsOfTraining,
		Source: lambda, Doubt: batches + "; whether the V100 of 16 GB was SXM2 is not said; caps are of one V100 (ml-energy/zeus)",
	}
}

func served(name, title string, values ...float64) Class {
	return Class{Name: "serve-" + name, Title: "inference of " + title, Throughput: relatives(servingGPUs, 0.08, values...), Source: mlperf, Doubt: makers}
}

var classes = []Class{
	trained("ssd", "SSD", 0.29, 0.51, 0.56, 0.59, 0.70, 1.09),
	trained("bert-large", "BERT large", 0.19, 0.39, 0.47, 0.50, 0.66, 1.13),
	trained("gnmt", "GNMT", 0.17, 0.40, 0.49, 0.52, 0.68, 1.19),
	trained("resnet-50", "ResNet-50", 0.32, 0.53, 0.58, 0.60, 0.71, 1.10),
	trained("tacotron-2", "Tacotron 2", 0.16, 0.49, 0.75, 0.76, 0.64, 1.44),
	trained("waveglow", "WaveGlow", 0.12, 0.50, 0.60, 0.62, 0.65, 1.17),
	served("3d-unet", "3D-UNet", 1.05, 0.71, 0.85, 0.59),
	served("bert", "BERT", 1.01, 0.65, 0.68, 0.38),
	served("dlrm", "DLRM", 1.05, 0.61, 0.68, 0.38),
	served("gpt-j", "GPT-J", 1.04, 0.67, 0.72, 0.35),
	served("llama-2-70b", "Llama 2 70B", 1.31, 0.38, 0.72, 0.15),
	served("resnet-50", "ResNet-50", 1.08, 0.64, 0.76, 0.51),
	served("sdxl", "SDXL", 1.06, 0.59, 0.74, 0.33),
}

// part is the class as one of All.
func (c *Class) part() Part {
	p := Part{Name: c.Name, Kind: Work, Title: c.Title}
	for _, r := range c.Throughput {
		p.Figures = append(p.Figures, Figure{
			Name: "throughput_" + r.GPU, Unit: "of h100-sxm", Value: r.Value, Low: r.Low, High: r.High, Basis: Measured, Source: c.Source, Doubt: c.Doubt,
		})
	}
	for _, x := range c.Caps {
		p.Figures = append(p.Figures, Figure{
			Name: "throughput_at_cap_" + strconv.FormatFloat(x.Draw, 'g', -1, 64), Unit: "of that without", Value: x.Throughput, Low: x.Throughput, High: x.Throughput,
			Basis: Measured, Source: zeus, Doubt: "cap as a part of what the job draws; one V100, six training jobs; other cards differ by 2 to 4 points, and by more below 0.6",
		})
	}
	return p
}
