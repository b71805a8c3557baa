import { Page } from '../../kit/index.ts';

const Overview = () => (
  <Page title="Overview">
    <p>…</p>
  </Page>
);

export default Overview;
