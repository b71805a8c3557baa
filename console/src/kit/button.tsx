import type { ButtonHTMLAttributes, ReactNode } from 'react';

type Native = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'>;

export interface ButtonProps extends Native {
  readonly tone?: 'plain' | 'primary' | 'danger' | 'ghost';
  readonly size?: 'small' | 'medium';
}

export const Button = ({ tone = 'plain', size = 'medium', type = 'button', ...rest }: ButtonProps) => (
  <button
    {...rest}
    type={type}
    className={`button button-${tone}${size === 'small' ? ' button-small' : ''}`}
  />
);

/** @param props.label the button's action, for screen readers and as a tooltip */
export const IconButton = ({
  label,
  icon,
  ...rest
}: Native & { readonly label: string; readonly icon: ReactNode }) => (
  <button
    {...rest}
    type="button"
    className="button button-ghost button-icon"
    aria-label={label}
    title={label}
  >
    {icon}
  </button>
);
