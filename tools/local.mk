# What maintainers run, the launcher, the packages lists, and the version.
EXTRA_DIST += \
	.ci/run .clang-format .editorconfig GNUmakefile HACKING.md LICENSE README.md bootstrap \
	doc/ARCHITECTURE.md doc/classroom.md doc/METHOD.md doc/SECURITY.md doc/ci.md doc/two-nodes.md doc/pytorch.md doc/examples/gpt.py doc/examples/mlp.py \
	tools/bench.py tools/bench.sh tools/check_layers.sh tools/cppcheck.supp tools/golden.py tools/install.sh tools/lint.sh tools/testnet.sh \
	tools/validate tools/validation/__init__.py tools/validation/cells.py tools/validation/measure.py tools/validation/report.py \
	tools/validation/rig.py tools/validation/sweep.py \
	tools/pytorch_profile.py tools/torch_step.py tools/variant.sh tools/version.sh tools/packages.debian tools/packages-maintainer.debian

# version.h says which commit this is. It is looked at by every make and touched only when the answer changed.
BUILT_SOURCES += version.h
CLEANFILES += version.h
version.h: ask-version
	@echo '#define DDPBENCH_VERSION "'`$(SHELL) $(top_srcdir)/tools/version.sh $(VERSION)`'"' >$@.tmp; \
	if cmp -s $@.tmp $@; then rm -f $@.tmp; else mv -f $@.tmp $@; fi

# The launcher shares its name with a goal, so it cannot be in EXTRA_DIST, whose entries are made first.
# The tarball is a whole tree: a tracked file that no local.mk names would be missing without a word.
dist-hook:
	cp -p $(srcdir)/bench $(distdir)/bench
	@for file in doc/ACCURACY.md doc/accuracy.svg results/validation/runs.jsonl results/validation/runs.csv; do \
	    test ! -e "$(srcdir)/$$file" || { $(MKDIR_P) "$(distdir)/$${file%/*}" && cp -p "$(srcdir)/$$file" "$(distdir)/$$file"; } || exit 1; \
	done
	$(SHELL) $(top_srcdir)/tools/version.sh $(VERSION) >$(distdir)/.tarball-version
	@if test -e $(top_srcdir)/.git; then \
	    git -C $(top_srcdir) ls-files | grep -v '^\.gitignore$$' | while read -r file; do \
	        test -e "$(distdir)/$$file" || { echo "dist: $$file is tracked and in no local.mk" >&2; echo missing; }; \
	    done | { ! grep -q missing; }; \
	fi

lint:
	$(SHELL) $(top_srcdir)/tools/lint.sh

format:
	cd $(top_srcdir) && clang-format -i `git ls-files '*.[ch]' '*.cc'`

# The manual pages are the program's own --help, one for all of it and one per command. It runs under its installed name from an
# empty folder, for in a build tree it would call itself ./bench. A tarball holds the pages, so help2man is needed only where
# sources change.
COMMAND_PAGES = doc/ddpbench-compare.1 doc/ddpbench-completion.1 doc/ddpbench-demo.1 doc/ddpbench-doctor.1 doc/ddpbench-history.1 doc/ddpbench-info.1 \
	doc/ddpbench-link.1 doc/ddpbench-peers.1 doc/ddpbench-predict.1 doc/ddpbench-probe.1 doc/ddpbench-report.1 doc/ddpbench-run.1 \
	doc/ddpbench-serve.1 doc/ddpbench-soak.1 doc/ddpbench-trace.1
dist_man_MANS += doc/ddpbench.1 $(COMMAND_PAGES)
CLEANFILES += doc/ddpbench.1 $(COMMAND_PAGES)
EXTRA_DIST += doc/ddpbench.h2m tools/man.sh
doc/ddpbench.1: $(ddpbench_SOURCES) doc/ddpbench.h2m tools/man.sh configure.ac | ddpbench
	$(AM_V_GEN)$(MKDIR_P) doc; HELP2MAN='$(HELP2MAN)' $(SHELL) $(srcdir)/tools/man.sh $@ $(srcdir)/doc/ddpbench.h2m
$(COMMAND_PAGES): $(ddpbench_SOURCES) tools/man.sh configure.ac | ddpbench
	$(AM_V_GEN)$(MKDIR_P) doc; HELP2MAN='$(HELP2MAN)' $(SHELL) $(srcdir)/tools/man.sh $@

# Where bash looks for the completion of a command it meets.
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = doc/completion/ddpbench
CLEANFILES += doc/completion/ddpbench
doc/completion/ddpbench: ddpbench
	$(AM_V_GEN)$(MKDIR_P) doc/completion; ./ddpbench completion bash >$@.tmp && mv -f $@.tmp $@

# Speeds, which make check never asserts.
bench: ddpbench tools/bench_predict
	tools/bench_predict
	$(SHELL) $(top_srcdir)/tools/bench.sh $(abs_builddir)/ddpbench

# Each flavour is built and checked in a folder of its own beside this one: build-asan/ and so on. The way to the
# sources is the same from there, so it may stay relative (configure refuses absolute ones with blanks).
asan tsan coverage:
	+$(SHELL) $(top_srcdir)/tools/variant.sh $@ $(top_srcdir) '$(abs_builddir)-$@'

.PHONY: ask-version lint format bench asan tsan coverage
