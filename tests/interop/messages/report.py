"""Lines of a runner: one for each check, and one at the end that counts them."""


class Report:
    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0

    def check(self, what, is_right, found=""):
        if is_right:
            self.passed += 1
            print(f"ok      {self.name}: {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {self.name}: {what}: {found!r}"[:2000], flush=True)

    def run(self, what, check):
        """A check that raises has failed."""
        try:
            check()
        except Exception as error:  # whatever a library raises
            self.check(what, False, error)

    def close(self):
        print(f"{self.name}: {self.passed} passed, {self.failed} failed", flush=True)
        return self.failed
