import { Page, useIsAdmin } from '../../kit/index.ts';
import { AdminTiles } from './admin-tiles.tsx';
import { LiveEvents } from './live-events.tsx';
import { PersonTiles } from './person-tiles.tsx';

/** Overview of the tenant: tiles for every person, and for admins more tiles and live events. */
const Overview = () => {
  const isAdmin = useIsAdmin();
  return (
    <Page title="Overview" about="What waits for you, what is happening now, and what needs attention.">
      <div className="grid">
        <PersonTiles />
        {isAdmin ? <AdminTiles /> : null}
      </div>
      {isAdmin ? <LiveEvents /> : null}
    </Page>
  );
};

export default Overview;
