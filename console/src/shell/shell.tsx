import { Menu as MenuIcon } from 'lucide-react';
import { useState } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { IconButton } from '../kit/button.tsx';
import { PageSessionProvider } from '../kit/client.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Empty } from '../kit/empty.tsx';
import { Page } from '../kit/page.tsx';
import type { Sessions } from '../session/store.ts';
import { identityOf } from '../session/store.ts';
import { homeOf, navigationOf, pagesOf } from './access.ts';
import { Account } from './account.tsx';
import { ImpersonationBanner } from './banners.tsx';
import { Bell } from './bell.tsx';
import { Boundary } from './boundary.tsx';
import { LiveBadge } from './live-badge.tsx';
import { Shortcuts } from './shortcuts.tsx';
import { Sidebar } from './sidebar.tsx';
import { TenantSwitch } from './tenant-switch.tsx';

/** The frame around every page: navigation, banners, account. */
export const Shell = ({ sessions }: { sessions: Sessions }) => {
  const { tenant, platform } = sessions;
  const [isMenuOpen, setMenuOpen] = useState(false);
  const groups = navigationOf(sessions);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the page
      </a>
      <Sidebar groups={groups} />
      {isMenuOpen ? (
        <Dialog title="Pages" size="drawer" onClose={() => setMenuOpen(false)}>
          <Sidebar groups={groups} onNavigate={() => setMenuOpen(false)} />
        </Dialog>
      ) : null}
      <div className="main">
        <header className="topbar">
          <span className="menu-button">
            <IconButton
              label="Pages"
              icon={<MenuIcon size={18} aria-hidden />}
              onClick={() => setMenuOpen(true)}
            />
          </span>
          {platform === undefined ? (
            <span className="truncate muted">{tenant?.tenantId ?? sessions.partner?.partnerId}</span>
          ) : (
            <TenantSwitch platform={platform} />
          )}
          <div className="topbar-end">
            {tenant === undefined ? null : <LiveBadge key={identityOf(tenant)} />}
            {tenant === undefined ? null : <Bell key={`bell ${identityOf(tenant)}`} tenant={tenant} />}
            <Account sessions={sessions} />
          </div>
        </header>
        {tenant === undefined ? null : <ImpersonationBanner tenant={tenant} />}
        <main className="content" id="content" tabIndex={-1}>
          <Pages sessions={sessions} />
        </main>
      </div>
      <Shortcuts groups={groups} />
    </div>
  );
};

const Pages = ({ sessions }: { sessions: Sessions }) => {
  const home = homeOf(sessions);
  return (
    <Switch>
      {pagesOf(sessions).map(([{ path, Content }, session]) => (
        <Route key={path} path={path}>
          <PageSessionProvider value={session}>
            <Boundary key={identityOf(session)}>
              <Content />
            </Boundary>
          </PageSessionProvider>
        </Route>
      ))}
      <Route path="/">{home === undefined ? <NothingHere /> : <Redirect to={home} replace />}</Route>
      <Route path="/signed-in">
        <Redirect to={home ?? '/'} replace />
      </Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
};

const NothingHere = () => (
  <Page title="Welcome">
    <Empty title="There is no page for your account here">
      <p>Open a tenant, or ask an admin of the tenant.</p>
    </Empty>
  </Page>
);

const NotFound = () => (
  <Page title="No such page">
    <Empty title="There is no such page, or it is not for your account">
      <p>Choose one on the left, or ask an admin of the tenant.</p>
    </Empty>
  </Page>
);
