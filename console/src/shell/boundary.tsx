import { Component, type ReactNode } from 'react';
import { Button } from '../kit/button.tsx';
import { Problem } from '../kit/problem.tsx';

interface State {
  readonly error: unknown;
}

/** Shows the error of a page in its place. A page that cannot be loaded often belongs to a former build. */
export class Boundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <Problem error={error}>
        <Button size="small" onClick={() => this.setState({ error: undefined })}>
          Try again
        </Button>
        <Button size="small" onClick={() => location.reload()}>
          Reload the Console
        </Button>
      </Problem>
    );
  }
}
