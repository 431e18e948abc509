# What maintainers run, the launcher, the packages lists, and the version.
EXTRA_DIST += \
	.ci/run .clang-format .editorconfig GNUmakefile HACKING.md LICENSE README.md bootstrap \
	doc/ARCHITECTURE.md doc/METHOD.md doc/SECURITY.md doc/two-nodes.md doc/pytorch.md doc/examples/gpt.py doc/examples/mlp.py \
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

# The manual page is the program's own --help. It runs under its installed name from an empty folder, for in a build
# tree it would call itself ./bench. A tarball holds the page, so help2man is needed only where sources change.
dist_man_MANS += doc/ddpbench.1
CLEANFILES += doc/ddpbench.1
EXTRA_DIST += doc/ddpbench.h2m
doc/ddpbench.1: $(ddpbench_SOURCES) doc/ddpbench.h2m configure.ac | ddpbench
	$(AM_V_GEN)$(MKDIR_P) doc; \
	folder=`mktemp -d` && cp ddpbench "$$folder" && \
	PATH="$$folder:$$PATH" $(HELP2MAN) --no-info --section=1 --include=$(srcdir)/doc/ddpbench.h2m --output=$@ ddpbench; \
	status=$$?; rm -rf "$$folder"; exit $$status

# Speeds, which make check never asserts.
bench: ddpbench tools/bench_predict
	tools/bench_predict
	$(SHELL) $(top_srcdir)/tools/bench.sh $(abs_builddir)/ddpbench

# Each flavour is built and checked in a folder of its own beside this one: build-asan/ and so on. The way to the
# sources is the same from there, so it may stay relative (configure refuses absolute ones with blanks).
asan tsan coverage:
	+$(SHELL) $(top_srcdir)/tools/variant.sh $@ $(top_srcdir) '$(abs_builddir)-$@'

.PHONY: ask-version lint format bench asan tsan coverage
