# Short names for the commands of this repository; `make` lists them. The checks
# themselves are in .ci/run, which runs all of them.

.DEFAULT_GOAL := help
.PHONY: help build test race lint vuln fuzz naive mutate long bench profile ci screenshots generate release clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, in bin/orrery
	go build -o bin/orrery ./cmd/orrery

test: ## all tests, those of the code rules among them
	go test -timeout 30m ./...

race: ## the short tests of what is concurrent, under the race detector
	bash .ci/run race

lint: ## golangci-lint, as pinned in tools/lint.mod
	bash .ci/run format vet lint

vuln: ## known vulnerabilities in what the code calls
	bash .ci/run vuln

fuzz: ## every fuzz target, FUZZTIME=1000x (inputs) or 60s each
	bash .ci/run fuzz

naive: ## the naive implementation on whole logs under every policy, about an hour
	bash .ci/long naive

mutate: ## 150 changes of one line in scheduler, quorum, world, metrics and scaling policies: which ones no test notices
	go run ./tools/mutate

long: ## what does not fit into make ci: lists its steps, and runs STEPS="logs growth" or STEPS=all
	bash .ci/long $(STEPS)

profile: ## cmd/orrery/default.pgo anew, which tells the compiler what is hot
	go run -trimpath ./tools/bench -n 1 -instructions=false -only easy -cpuprofile cmd/orrery/easy.pgo
	go run -trimpath ./tools/bench -n 6 -instructions=false -only month -cpuprofile cmd/orrery/month.pgo
	go tool pprof -proto cmd/orrery/easy.pgo cmd/orrery/month.pgo > cmd/orrery/default.pgo
	rm cmd/orrery/easy.pgo cmd/orrery/month.pgo

bench: ## the speed table
	go run -pgo=cmd/orrery/default.pgo ./tools/bench

ci: ## everything that a change must pass
	bash .ci/run

screenshots: ## the pictures of pages in docs/images, with Chromium, in some minutes
	go run ./tools/screenshots

generate: ## the parts of the documents that are printed from code
	go generate ./...

# What a release is built for, and the size that none may pass, in bytes.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
MOST_BYTES := 44000000
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# The agent is linked with the C library that this computer has, for NVIDIA's: it is for
# Linux, here for this architecture. Others need a C compiler, such as that of Debian for
# linux/arm64, which AGENT_PLATFORMS="linux/amd64 linux/arm64" CC_arm64=aarch64-linux-gnu-gcc names.
AGENT_PLATFORMS ?= $(if $(filter linux,$(shell go env GOHOSTOS)),linux/$(shell go env GOHOSTARCH))
BINARIES = $(foreach p,$(PLATFORMS),dist/orrery-$(subst /,-,$(p))) $(foreach p,$(AGENT_PLATFORMS),dist/orrery-agent-$(subst /,-,$(p)))

# Packages whose speed does not show, compiled without inlining: smaller by 2 %.
COLD := google.golang.org/protobuf github.com/spf13 github.com/goccy github.com/twpayne gonum.org/v1/plot golang.org/x/image golang.org/x/text \
	codeberg.org git.sr.ht github.com/golang/freetype orrery/cmd orrery/reports orrery/profiles

# Static and stripped, without paths of this computer. The tag minimal leaves out the
# canvases of the plotting library that are not drawn on: PDF, EPS and TeX. Symbols of the
# driver are bound when they are called, so that the agent starts where there is none.
release: export GOFLAGS =
comma := ,
release: ## binaries with SHA256SUMS and bills of materials, in dist/
	rm -rf dist && mkdir dist
	set -e; for platform in $(PLATFORMS); do \
		out=dist/orrery-$$(echo $$platform | tr / -); \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go build -trimpath -tags minimal -pgo=auto $(foreach p,$(COLD),-gcflags=$(p)/...=-l) \
			-ldflags "-s -w -X orrery/cmd/orrery/internal/cli.buildVersion=$(VERSION)" -o $$out ./cmd/orrery; \
		size=$$(wc -c <$$out); echo "$$out: $$size bytes"; \
		[ $$size -le $(MOST_BYTES) ] || { echo "$$out is larger than $(MOST_BYTES) bytes" >&2; exit 1; }; \
	done
	set -e; $(foreach p,$(AGENT_PLATFORMS),GOOS=$(word 1,$(subst /, ,$(p))) GOARCH=$(word 2,$(subst /, ,$(p))) CGO_ENABLED=1 CC=$(or $(CC_$(word 2,$(subst /, ,$(p)))),$(CC)) \
		go build -trimpath -ldflags "-s -w -X main.buildVersion=$(VERSION) -extldflags=-Wl$(comma)-z$(comma)lazy" -o dist/orrery-agent-$(subst /,-,$(p)) ./cmd/orrery-agent;)
	go run ./tools/sbom -version $(VERSION) $(BINARIES)
	cd dist && sha256sum orrery-* >SHA256SUMS

clean: ## what build and replay left in this folder
	rm -rf bin out dist
