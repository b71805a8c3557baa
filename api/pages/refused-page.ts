import { html } from './html.ts';
import { page } from './page.ts';

/** The page for a failed form post when the form cannot be shown again; the previous page still has the values. */

export interface Refused {
  /** HTTP status. */
  readonly status: number;
  /** The error's message. */
  readonly message: string;
  /** Whole seconds until the next try. */
  readonly seconds: string | undefined;
}

const retryTime = (seconds: string | undefined): string =>
  seconds === undefined ? 'later' : `in ${seconds} ${seconds === '1' ? 'second' : 'seconds'}`;

const BACK = 'Go back in your browser: what you entered is still there.';

const textOf = ({ status, message, seconds }: Refused): { title: string; said: string; next: string } => {
  if (status === 429) {
    const said = `Your answers have not been sent, because too many forms were sent from your network. Please try again ${retryTime(seconds)}.`;
    return { title: 'Please wait a moment', said, next: `Nothing is lost. ${BACK}` };
  }
  if (status >= 500) {
    const said = `Something went wrong on our side. Please try again ${retryTime(seconds)}.`;
    return { title: 'Not sent yet', said, next: `${BACK} If you send it twice, it counts only once.` };
  }
  const said = `Your answers could not be read, and have not been sent. ${message}`;
  return { title: 'Your answers could not be read', said, next: `Nothing is lost. ${BACK}` };
};

export const refusedPage = (refused: Refused): string => {
  const { title, said, next } = textOf(refused);
  return page(
    `Error: ${title}`,
    html`<h1>${title}</h1>
<p role="alert">${said}</p>
<p>${next}</p>`,
  );
};
