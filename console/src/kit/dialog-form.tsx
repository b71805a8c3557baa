import type { ComponentProps } from 'react';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';

type FormProps = Omit<ComponentProps<typeof Form>, 'onCancel'>;

interface DialogFormProps extends FormProps {
  readonly title: string;
  readonly size?: 'normal' | 'wide';
  readonly onClose: () => void;
}

/** A dialogue with a form, which closes when `onSubmit` is done. */
export const DialogForm = ({ title, size = 'normal', onClose, onSubmit, ...form }: DialogFormProps) => (
  <Dialog title={title} size={size} onClose={onClose}>
    <Form
      {...form}
      onCancel={onClose}
      onSubmit={async (values) => {
        await onSubmit(values);
        onClose();
      }}
    />
  </Dialog>
);
