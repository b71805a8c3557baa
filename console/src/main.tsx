import '@fontsource-variable/inter/wght.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/kit.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, start } from './app.tsx';
import { startTheme } from './shell/theme.ts';

startTheme();
// No top-level `await`: the script of the signed-in page imports this script, so each would wait for the other.
void start().then((error) => {
  const root = document.getElementById('root');
  if (root === null) return;
  createRoot(root).render(
    <StrictMode>
      <App error={error} />
    </StrictMode>,
  );
});
