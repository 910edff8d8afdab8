use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

use crate::subject::Subject;

/// The expansion after a mistake: the item, a bare declaration and the messages.
///
/// The item and the declaration keep the rest of the program compiling, so that there are no
/// further errors. Nothing is registered, since that would need an `impl Job`, which may be
/// missing.
pub(crate) fn fallback(subject: &Subject, error: Option<&Error>) -> TokenStream {
    let item = &subject.item;
    let declared = subject.name.as_ref().map(|name| {
        let (parameters, arguments, bounds) = subject.generics.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #parameters ::jobkit::private::JobType for #name #arguments #bounds {
                type Output = ();
                const POLICY: ::jobkit::private::Policy = ::jobkit::private::Policy::new("");
            }
        }
    });
    let messages = error.map(Error::to_compile_error);
    quote!(#item #declared #messages)
}
