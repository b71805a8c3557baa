import { Link, useLocation } from 'wouter';
import icon from '../icon.svg';
import type { NavGroup } from '../pages/navigation.ts';

/** @param props.onNavigate closes the drawer of narrow windows */
export const Sidebar = ({ groups, onNavigate }: { groups: readonly NavGroup[]; onNavigate?: () => void }) => {
  const [location] = useLocation();
  return (
    <nav className="sidebar" aria-label="Pages">
      <div className="brand">
        <img src={icon} alt="" /> Console
      </div>
      <div className="nav">
        {groups.map(({ title, entries }) => (
          <div key={title}>
            <h2 className="nav-group">{title}</h2>
            <ul>
              {entries.map(({ path, title: name, icon: Icon }) => {
                const isHere = location === path || location.startsWith(`${path}/`);
                return (
                  <li key={path}>
                    <Link
                      href={path}
                      className="nav-link"
                      aria-current={isHere ? 'page' : undefined}
                      onClick={onNavigate}
                    >
                      <Icon size={16} aria-hidden />
                      {name}
                    </Link>
                  </li>
                );
              })}
            </ul>
          </div>
        ))}
      </div>
      <p className="sidebar-end small muted">
        <a href="/docs">API docs</a> · <a href="/docs/events">Event docs</a> · press <kbd>?</kbd>
      </p>
    </nav>
  );
};
