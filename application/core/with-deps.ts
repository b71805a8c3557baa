/** Base of classes whose constructor only stores its dependencies. */
export abstract class WithDeps<Deps> {
  protected readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }
}
