/** Base of classes whose constructor only keeps the parts that they work with. */
export abstract class WithDeps<Deps> {
  protected readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }
}
